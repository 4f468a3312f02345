import type { DropReason } from '../listeners/connections.ts'
import type { IngestOutcome, Signal } from '../model/ingest.ts'

export type ReceiverTransport = 'grpc' | 'http'

/**
 * One OTLP request that was answered. `receiver` is the id in the configuration, such as `otlp/2`; `bytes` is the
 * uncompressed size as the sender wrote it, 0 when the request was refused before it was read whole.
 */
export interface AnsweredRequest {
  receiver: string
  /** The way it came, such as `grpc`. */
  transport: string
  signal: Signal
  outcome: IngestOutcome
  bytes: number
}

/** A request that was refused before anything of it was read; `reason` holds no secret. */
export interface TurnedAwayRequest {
  receiver: string
  transport: string
  reason: string
}

/** A connection that was closed because there are too many such. */
export interface DroppedConnection {
  receiver: string
  transport: string
  reason: DropReason
}

/**
 * Is told once of every OTLP request that was answered, whatever the answer; not of requests that name no signal
 * Causeway takes here, nor of senders that hung up before they were done sending. `answered` must not throw.
 */
export interface ReceiverObserver {
  answered(request: AnsweredRequest): void
  /** Is told of every request without a credential that is known here; nothing else is said of it. Must not throw. */
  turnedAway(request: TurnedAwayRequest): void
  /** Is told of every connection that was closed because there are too many. Must not throw. */
  dropped(connection: DroppedConnection): void
  /** Is told of every answer that was ended because nobody read it. Must not throw. */
  unread(connection: Pick<DroppedConnection, 'receiver' | 'transport'>): void
}
