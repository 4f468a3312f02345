import type { PruneResult } from '../graph/prune.ts'
import type { InferenceRules } from '../kube/inference/inference-settings.ts'
import type { KeptArchive } from '../model/archive.ts'
import type { IngestCounts } from '../model/arrivals.ts'
import type { SetAside, StorageFault } from '../model/faults.ts'
import type { InferenceCounts } from '../model/inference-store.ts'
import type {
  KnownObjectsQuery,
  KnownObjectVersion,
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
  /** How many messages were posted that somebody waits for (`AwaitedMessages`). */
  awaited: SharedArrayBuffer
}

export interface StoreGauges extends WriterGauges {
  lag: number
  walBytes: number
  /** Free space on the disk of the database. */
  freeBytes: number
}

export type ToStore =
  | {
      kind: 'ingest'
      id: number
      signal: Signal
      bytes: Uint8Array<ArrayBuffer>
      /** Identifies a repetition of the request. */
      hash: Uint8Array
      /** The credential or address that sends it. */
      client: string
      /** The credential or connection that carries it. */
      peer: number
      flow: number
      sender?: Sender
    }
  /** What a receiver observes of a cluster. */
  | {
      kind: 'observe'
      id: number
      cluster: string
      stream: string
      position?: string
      /** The observations (`bytesOfTold`). */
      body: Uint8Array<ArrayBuffer>
    }
  /** Streams of a cluster are behind the others, or no longer are. */
  | { kind: 'streamsBehind'; cluster: string; receiver: string; isBehind: boolean }
  | { kind: 'askKnownObjects'; id: number; asked: KnownObjectsQuery }
  | { kind: 'askStreamPosition'; id: number; cluster: string; stream: string }
  | { kind: 'exporterMoved'; signal: Signal; exporter: string; position: number; refused: number }
  | ({ kind: 'archiveMoved' } & MovedArchive)
  /** Decisions that an exporter skipped, since their data cannot be built. */
  | { kind: 'setAside'; items: SetAside[] }
  /** Link what there is, within the grace period, and report it. */
  | { kind: 'catchUp'; graceMs: number }
  | { kind: 'collectGarbage' }
  | { kind: 'stop' }

export type FromStore =
  /** Every two seconds, whatever else there is to say. */
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
      /** Undefined if it had no commit of its own. */
      commitMs: number | undefined
      /** Of all signals, where metrics came that exporters send. */
      lastDecisions?: Record<Signal, number>
    }
  | { kind: 'observed'; outcomes: { id: number; outcome: ObservationOutcome }[] }
  /** An answer to `askKnownObjects` or `askStreamPosition`; `failed` says why there is none. */
  | {
      kind: 'clusterAnswer'
      id: number
      held?: readonly KnownObjectVersion[]
      position?: string
      failed?: string
    }
  /** The decisions about writes of clusters, and how many still wait. */
  | { kind: 'inferred'; decided: readonly InferenceCounts[]; waiting: number }
  | { kind: 'linked'; counts: LinkCounts; figures: CascadeFigures; lastDecisions: Record<Signal, number> }
  /** Items that could not be processed and were skipped, so that all others could be. */
  | { kind: 'setAside'; items: SetAside[] }
  | { kind: 'pruned'; result: PruneResult }
  | { kind: 'gauges'; gauges: StoreGauges }
  | { kind: 'caughtUp'; lastDecisions: Record<Signal, number> }
  | { kind: 'trouble'; reason: string }
  /** Something that an operator should look at. Everything continues. */
  | { kind: 'notice'; reason: string }
  /** The clock of this machine jumped. */
  | { kind: 'clockLeapt'; reason: string }
  /** The checkpoint thread ended by itself; another one is started. */
  | { kind: 'checkpointsEnded'; reason: string }
  /** The present fault of the database; undefined once it works again. */
  | { kind: 'storage'; fault: StorageFault | undefined }
  | { kind: 'stopped' }
