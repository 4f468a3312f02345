import type { PruneResult } from '../graph/prune.ts'
import type { InferenceRules } from '../kube/inference/inference-settings.ts'
import type { KeptArchive } from '../model/archive.ts'
import type { IngestCounts } from '../model/arrivals.ts'
import type { SetAside, StorageFault } from '../model/faults.ts'
import type { InferenceCounts } from '../model/inference-store.ts'
import type {
  KnownObjectsQuery,
  ExistingObject,
  ObservationOutcome,
} from '../model/kubernetes-observations.ts'
import type { CascadeFigures, LinkCounts, LinkerSettings } from '../model/linker-settings-and-metrics.ts'
import type { IngestOutcome, Sender, SenderPolicy, Signal } from '../model/otlp-requests.ts'
import type { Positions } from '../model/outbox.ts'
import type { Retention } from '../model/store-ports.ts'
import type { MovedArchive, WriterGauges } from './store-writer.ts'

export interface StoreThreadData {
  path: string
  linking: LinkerSettings
  maxSources: number
  inference: InferenceRules
  maxSeries: number
  senders?: SenderPolicy
  retention: Retention & { intervalMs: number }
  /** The ids of the exporters of each signal. */
  exporters: Record<Signal, string[]>
  /** The ids of the archives. */
  archives: string[]
  /** How many messages were posted for which somebody waits (`AwaitedMessages`). */
  awaited: SharedArrayBuffer
}

export interface StoreGauges extends WriterGauges {
  lag: number
  walBytes: number
  /** Free bytes on the disk of the database. */
  freeBytes: number
}

export type ToStore =
  | {
      kind: 'ingest'
      id: number
      signal: Signal
      bytes: Uint8Array<ArrayBuffer>
      /** Identifies repetitions of the request. */
      hash: Uint8Array
      /** The credential or address of the sender. */
      client: string
      /** The credential or connection of the sender. */
      peer: number
      flow: number
      sender?: Sender
    }
  /** Observations of a cluster. */
  | {
      kind: 'observe'
      id: number
      cluster: string
      stream: string
      position?: string
      /** The observations, from `serializeObservations`. */
      body: Uint8Array<ArrayBuffer>
    }
  /** Whether some streams of a receiver lag behind others. */
  | { kind: 'streamsBehind'; cluster: string; receiver: string; isBehind: boolean }
  | { kind: 'askKnownObjects'; id: number; asked: KnownObjectsQuery }
  | { kind: 'askStreamPosition'; id: number; cluster: string; stream: string }
  | { kind: 'exporterMoved'; signal: Signal; exporter: string; position: number; refused: number }
  | ({ kind: 'archiveMoved' } & MovedArchive)
  /** Decisions that an exporter skipped, since their bytes cannot be built. */
  | { kind: 'setAside'; items: SetAside[] }
  /** Store everything queued, link within the grace period, and reply. */
  | { kind: 'catchUp'; graceMs: number }
  | { kind: 'collectGarbage' }
  | { kind: 'stop' }

export type FromStore =
  /** Sent every two seconds, whatever the thread does. */
  | { kind: 'alive' }
  /** Nothing has arrived for some seconds, and everything is linked. */
  | { kind: 'resting' }
  | {
      kind: 'ready'
      positions: Positions
      lastDecisions: Record<Signal, number>
      archives: Map<string, KeptArchive>
    }
  | { kind: 'fatal'; reason: string }
  | {
      kind: 'ingested'
      outcomes: { id: number; outcome: IngestOutcome }[]
      counts: IngestCounts
      /** Undefined if there was no commit of its own. */
      commitMs: number | undefined
      /** Of all signals; set if metrics arrived that exporters send. */
      lastDecisions?: Record<Signal, number>
    }
  | { kind: 'observed'; outcomes: { id: number; outcome: ObservationOutcome }[] }
  /** The answer to `askKnownObjects` or `askStreamPosition`. `failed`: why there is none. */
  | {
      kind: 'clusterAnswer'
      id: number
      held?: readonly ExistingObject[]
      position?: string
      failed?: string
    }
  /** Decisions about writes of clusters, and how many writes still wait. */
  | { kind: 'inferred'; decided: readonly InferenceCounts[]; waiting: number }
  | { kind: 'linked'; counts: LinkCounts; figures: CascadeFigures; lastDecisions: Record<Signal, number> }
  /** Items that could not be processed, and were skipped so that others could be. */
  | { kind: 'setAside'; items: SetAside[] }
  | { kind: 'pruned'; result: PruneResult }
  | { kind: 'gauges'; gauges: StoreGauges }
  | { kind: 'caughtUp'; lastDecisions: Record<Signal, number> }
  | { kind: 'trouble'; reason: string }
  /** A warning for the operator. */
  | { kind: 'notice'; reason: string }
  /** The system clock jumped. */
  | { kind: 'clockLeapt'; reason: string }
  /** The checkpoint thread ended unexpectedly; another one is started. */
  | { kind: 'checkpointsEnded'; reason: string }
  /** The fault of the database; undefined when it is over. */
  | { kind: 'storage'; fault: StorageFault | undefined }
  | { kind: 'stopped' }
