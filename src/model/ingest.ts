import type { Sender } from './senders/sender.ts'

/** The OTLP signals Causeway takes. */
export type Signal = 'traces' | 'logs'

/** The OTLP signals Causeway sends: what it takes, and metrics of what it saw. */
export type SentSignal = Signal | 'metrics'

/**
 * What there was too little of to take a request in: memory of the process, room among the requests in flight, or room of
 * its sender beside others, or time for it to arrive.
 */
export type Shortage = 'memory' | 'in_flight' | 'flow' | 'time'

/**
 * What became of one OTLP export request.
 * - accepted: `stored` spans or log records are durable (0 for a repeated request); `rejected` others were refused
 *   one by one and `message` says why. With `rejected` 0 a non-empty message is a warning, an empty one full success.
 * - malformed: the bytes are not an OTLP request; sending them again cannot help.
 * - tooLarge: over the size limit, before or after decompression; sending it again cannot help.
 * - busy: nothing was stored; the sender should try again after `retryAfterMs`. `cause` says what there was too little of.
 * - failed: nothing was stored because of a fault here (disk full, shutting down); the sender should try again.
 */
export type IngestOutcome =
  | { kind: 'accepted'; stored: number; rejected: number; message: string }
  | { kind: 'malformed'; reason: string }
  | { kind: 'tooLarge'; reason: string }
  | { kind: 'busy'; retryAfterMs: number; reason: string; cause?: Shortage }
  | { kind: 'failed'; reason: string }

/**
 * Whose turn a request takes: that of its flow, one of those that its peer, a credential or a connection, carries. All
 * connections of an address without a credential are one client, which takes turns with other clients.
 */
export interface InTurn {
  readonly client: string
  readonly peer: number
  readonly flow: number
}

/**
 * Takes one OTLP export request as uncompressed protobuf bytes. Resolves once everything accepted in it is
 * durable; never rejects. The same bytes again answer the same and change nothing. The caller gives the bytes
 * away: afterwards the array may be empty. `sender` is there where the receiver knows who sent it. Requests are stored in
 * turn with those of others.
 */
export interface IngestPort {
  ingest(signal: Signal, request: Uint8Array, sender?: Sender, from?: InTurn): Promise<IngestOutcome>
}
