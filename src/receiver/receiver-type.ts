import type { ReceiverConfig } from '../config/causeway-config.ts'
import type { ReceiverDeclaration } from '../config/component-type.ts'
import type { CustomReference } from '../model/kubernetes-objects.ts'
import type { ObservationPort } from '../model/kubernetes-observations.ts'
import type { IngestOutcome, IngestPort, Signal } from '../model/otlp-requests.ts'
import type { DropReason } from '../platform/connections.ts'
import type { Authenticator } from '../platform/credentials.ts'
import type { Flows } from './flows.ts'
import type { InFlight } from './in-flight.ts'

/**
 * A type of receiver. Whether it listens, follows a file or goes and asks, it hands OTLP requests to the one intake, which
 * stores them in turn with those of others and answers when they are durable. What it sees of clusters it tells the one
 * inference, which keeps in the same transaction how far the source was read.
 */
export interface ReceiverType<Settings = unknown> extends ReceiverDeclaration<Settings> {
  /** Loads what starts it. */
  load(): Promise<ReceiverModule<Settings>>
}

interface ReceiverModule<Settings> {
  /** Rejects with what to do when it cannot start, nothing left open. */
  startReceiver(receiver: StartedWith<Settings>, host: ReceiverHost): Promise<RunningReceiver>
}

export type StartedWith<Settings> = Omit<ReceiverConfig, 'settings'> & { settings: Settings }

/** Disposing stops what it receives, lets what is under way finish within the grace period, and is safe twice. */
export interface RunningReceiver extends AsyncDisposable {
  /** By each way into it, which a label of its metrics names; none where it goes and gets what it receives. */
  readonly ways: readonly Way[]
}

export interface Way {
  readonly transport: string
  /** How many connections are open now. */
  readonly connections: number
}

/** What a receiver is given by whoever starts it: all receivers share the limits in here. */
export interface ReceiverHost {
  /** Where requests go. */
  readonly intake: IngestPort
  /** Where it tells what it sees of a cluster. */
  readonly inference: ObservationPort
  /** What has to be read of custom resources beside what all objects have. */
  readonly references: readonly CustomReference[]
  /** Is told what became of each. */
  readonly observer: ReceiverObserver
  /** Is told of what is seen of clusters. */
  readonly clusters: ClusterObserver & SourceObserver
  readonly inFlight: InFlight
  readonly flows: Flows
  /** Tells when memory is short. */
  readonly memory: { readonly isRefusing: boolean }
  /** To each address that it takes. */
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
  /** How long a request may take to arrive, in milliseconds; 0 is for ever. */
  readonly requestTimeoutMs: number
  /** How long what is under way may take once it is to stop. */
  readonly shutdownGraceMs: number
  /** What a listener that names an authenticator is given; the receiver does not dispose of it. */
  readonly authenticatorOf: (listener: { auth?: string }) => { authenticator?: Authenticator }
  /** Writes that it has started, and where. */
  readonly started: (what: string, fields: Record<string, string>) => void
  /** Told of what an operator should see to; the same again is not repeated. */
  readonly onTrouble: (reason: string) => void
}

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

/** Is told of what comes to receivers by itself, or lies in files. */
export interface SourceObserver extends Pick<ClusterObserver, 'told' | 'skipped' | 'unreadable'> {
  /** So much was seen and could not be told, and does not come again. */
  lost(receiver: string, count: number): void
  /** So many bytes of a file are written and not told yet. */
  behind(receiver: string, bytes: number): void
}

/** Is told of what receivers see of clusters, and how they fare; must not throw. `receiver` is the id in the configuration. */
export interface ClusterObserver {
  /** So much was told and is durable. */
  told(receiver: string, observations: number): void
  /** So much was read and makes no write. */
  skipped(receiver: string, reason: string, count: number): void
  /** So much cannot be read and is left out, while all else goes on; `reason` says what of the first. */
  unreadable(receiver: string, count: number, reason: string): void
  /** A resource was listed anew. */
  relisted(receiver: string): void
  /** A watch was begun. */
  watched(receiver: string): void
  /** So many resources may not be seen now. */
  refused(receiver: string, resources: number): void
}
