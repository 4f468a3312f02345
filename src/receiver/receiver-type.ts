import type { ReceiverDeclaration } from '../config/component-type.ts'
import type { ReceiverConfig } from '../config/causeway-config.ts'
import type { IngestPort } from '../model/ingest.ts'
import type { CustomReference } from '../model/kubernetes/custom-reference.ts'
import type { ObservationPort } from '../model/ports/observation-port.ts'
import type { Authenticator } from '../trust/authenticator.ts'
import type { Flows } from './admission/flows.ts'
import type { InFlight } from './admission/in-flight.ts'
import type { ClusterObserver } from './clusters/cluster-observer.ts'
import type { SourceObserver } from './clusters/source-observer.ts'
import type { ReceiverObserver } from './observer.ts'

/**
 * A type of receiver. Whether it listens, follows a file or goes and asks, it hands OTLP requests to the one intake, which
 * stores them in turn with those of others and answers when they are durable. What it sees of clusters it tells the one
 * inference, which keeps in the same transaction how far the source was read.
 */
export interface ReceiverType<Settings = unknown> extends ReceiverDeclaration<Settings> {
  /** Loads what starts it. */
  load(): Promise<ReceiverModule<Settings>>
}

export interface ReceiverModule<Settings> {
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
