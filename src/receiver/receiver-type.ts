import type { ReceiverConfig } from '../config/causeway-config.ts'
import type { ReceiverDeclaration } from '../config/component-type.ts'
import type { ReadingRules } from '../model/kubernetes-objects.ts'
import type { ObservationPort } from '../model/kubernetes-observations.ts'
import type { IngestOutcome, IngestPort, Signal } from '../model/otlp-requests.ts'
import type { DropReason } from '../platform/connections.ts'
import type { Authenticator } from '../platform/credentials.ts'
import type { Flows } from './flows.ts'
import type { InFlight } from './in-flight.ts'

/**
 * A type of receiver. Whether it listens, follows a file or watches an API server, it hands OTLP requests to the ingest port, which
 * answers once they are durable. What it observes of clusters goes to the observation port, which stores the position of the
 * source in the same transaction.
 */
export interface ReceiverType<Settings = unknown> extends ReceiverDeclaration<Settings> {
  /** Loads the module that starts it. */
  load(): Promise<ReceiverModule<Settings>>
}

interface ReceiverModule<Settings> {
  /** Rejects with what to do when it cannot start, nothing left open. */
  startReceiver(receiver: StartedWith<Settings>, host: ReceiverHost): Promise<RunningReceiver>
}

export type StartedWith<Settings> = Omit<ReceiverConfig, 'settings'> & { settings: Settings }

/** Disposing stops receiving, and lets work in flight finish within the grace period. It is safe twice. */
export interface RunningReceiver extends AsyncDisposable {
  /** Its listeners; none when it watches an API server or follows a file. */
  readonly listeners: readonly ReceiverListener[]
}

export interface ReceiverListener {
  readonly transport: string
  /** How many connections are open now. */
  readonly connections: number
}

/** What a receiver gets when it starts. All receivers share these limits. */
export interface ReceiverHost {
  /** Takes OTLP requests. */
  readonly ingestPort: IngestPort
  /** Takes observations of clusters. */
  readonly observationPort: ObservationPort
  readonly reading: ReadingRules
  /** Called with the outcome of each request. */
  readonly observer: ReceiverObserver
  /** Called with what receivers observe of clusters. */
  readonly clusterObserver: ClusterObserver & SourceObserver
  readonly inFlight: InFlight
  readonly flows: Flows
  /** Whether memory is short. */
  readonly memory: { readonly isRefusing: boolean }
  /** For each of its listeners. */
  readonly maxConnections: number
  readonly maxConnectionsPerAddress: number
  /** How long a request may take to arrive, in milliseconds; 0 for no limit. */
  readonly requestTimeoutMs: number
  /** How long work in flight may take at shutdown, in milliseconds. */
  readonly shutdownGraceMs: number
  /** The authenticator that a listener names; the receiver does not dispose of it. */
  readonly authenticatorOf: (listener: { auth?: string }) => { authenticator?: Authenticator }
  /** Logs that something has started or resumed, with where. */
  readonly started: (what: string, fields: Record<string, string>) => void
  /** Called with what an operator should look at; repetitions are not logged again. */
  readonly onTrouble: (reason: string) => void
  /** Shows a warning of this receiver in the health check; undefined removes it. */
  readonly onWarning: (receiver: string, warning: string | undefined) => void
}

export type ReceiverTransport = 'grpc' | 'http'

/**
 * One OTLP request that was answered. `receiver` is the id in the configuration, such as `otlp/2`; `bytes` is the
 * uncompressed size as the sender wrote it, 0 when the request was refused before it was read whole.
 */
export interface AnsweredRequest {
  receiver: string
  /** `grpc` or `http`. */
  transport: string
  signal: Signal
  outcome: IngestOutcome
  bytes: number
}

/** A request without a valid credential, refused before its body was read; `reason` holds no secret. */
export interface UnauthenticatedRequest {
  receiver: string
  transport: string
  reason: string
}

/** A connection that was closed at a limit. */
export interface DroppedConnection {
  receiver: string
  transport: string
  reason: DropReason
}

/**
 * Called once for every OTLP request that was answered, whatever the answer; not for requests of signals that this receiver does
 * not take, nor for senders that hung up before their request was complete. `answered` must not throw.
 */
export interface ReceiverObserver {
  answered(request: AnsweredRequest): void
  /** Called for every request without a valid credential, instead of `answered`. Must not throw. */
  unauthenticated(request: UnauthenticatedRequest): void
  /** Called for every connection that was closed at a limit. Must not throw. */
  dropped(connection: DroppedConnection): void
  /** Called for every answer that was cut off because nobody read it. Must not throw. */
  unread(connection: Pick<DroppedConnection, 'receiver' | 'transport'>): void
}

/** Called by receivers of audit logs, admission reviews and Events. */
export interface SourceObserver extends Pick<ClusterObserver, 'recorded' | 'skipped' | 'unreadable'> {
  /** Observations were lost: they could not be stored and are not delivered again. */
  lost(receiver: string, count: number): void
  /** Bytes of a file that are not stored yet. */
  behind(receiver: string, bytes: number): void
}

/** Called with what receivers observe of clusters; must not throw. `receiver` is the id in the configuration. */
export interface ClusterObserver {
  /** Observations are durable. */
  recorded(receiver: string, observations: number): void
  /** Records that describe no write were skipped. */
  skipped(receiver: string, reason: string, count: number): void
  /** Records could not be read and were left out; `reason` is about the first. */
  unreadable(receiver: string, count: number, reason: string): void
  /** A resource was listed again. */
  relisted(receiver: string): void
  /** A watch was begun. */
  watched(receiver: string): void
  /** How many resources the receiver has no permission to watch. */
  refused(receiver: string, resources: number): void
}
