import type { PruneResult } from '../graph/prune.ts'
import type { InferenceRules } from '../kube/inference/decide.ts'
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
import type { MovedArchive } from './store-writer.ts'

/** What the store thread is started with. */
export interface StoreThreadData {
  path: string
  linking: LinkerSettings
  maxSources: number
  inference: InferenceRules
  maxSeries: number
  senders?: SenderPolicy
  retention: Retention & { intervalMs: number }
  /** Which exporters each signal goes to, by id. */
  exporters: Record<Signal, string[]>
  /** Which archives there are, by id. */
  archives: string[]
}

export interface StoreGauges {
  lag: number
  waiting: number
  openTraces: number
  /** Items that were set aside and are remembered. */
  setAside: number
  cpids: number
  held: number
  tombstones: number
  usedBytes: number
  /** Length of the write-ahead log. */
  walBytes: number
  /** What is free on the disk of the database. */
  freeBytes: number
}

export type ToStore =
  | {
      kind: 'ingest'
      id: number
      signal: Signal
      bytes: Uint8Array<ArrayBuffer>
      /** By which its repetition is known. */
      hash: Uint8Array
      /** The credential or address that sends it. */
      client: string
      /** The credential or connection that carries it. */
      peer: number
      flow: number
      sender?: Sender
    }
  /** What a receiver sees of a cluster. */
  | {
      kind: 'tell'
      id: number
      cluster: string
      stream: string
      position?: string
      /** What was told (`bytesOfTold`). */
      body: Uint8Array<ArrayBuffer>
    }
  /** Streams of a cluster may be behind the others, or no longer are. */
  | { kind: 'behind'; cluster: string; receiver: string; isBehind: boolean }
  | { kind: 'askHeld'; id: number; asked: KnownObjectsQuery }
  | { kind: 'askPosition'; id: number; cluster: string; stream: string }
  | { kind: 'moved'; signal: Signal; exporter: string; position: number; refused: number }
  | ({ kind: 'archived' } & MovedArchive)
  /** Decisions that an exporter passed over, since what they send cannot be built. */
  | { kind: 'setAside'; items: SetAside[] }
  /** Link what there is, within the grace period, and say so. */
  | { kind: 'catchUp'; graceMs: number }
  | { kind: 'collectGarbage' }
  | { kind: 'stop' }

export type FromStore =
  /** Nothing has come in for some seconds, and everything is linked. */
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
      /** Undefined where it was no commit of its own. */
      commitMs: number | undefined
    }
  | { kind: 'told'; outcomes: { id: number; outcome: ObservationOutcome }[] }
  /** An answer to `askHeld` or `askPosition`; `failed` says why there is none. */
  | { kind: 'known'; id: number; held?: readonly KnownObjectVersion[]; position?: string; failed?: string }
  /** What became of writes of clusters, and how much waits still. */
  | { kind: 'inferred'; decided: readonly InferenceCounts[]; waiting: number }
  | { kind: 'linked'; counts: LinkCounts; figures: CascadeFigures; lastDecisions: Record<Signal, number> }
  /** What could not be worked on, so that everything else could be. */
  | { kind: 'setAside'; items: SetAside[] }
  | { kind: 'pruned'; result: PruneResult }
  | { kind: 'gauges'; gauges: StoreGauges }
  | { kind: 'caughtUp'; lastDecisions: Record<Signal, number> }
  | { kind: 'trouble'; reason: string }
  /** Something an operator should see to; everything goes on. */
  | { kind: 'notice'; reason: string }
  /** The clock of this machine leapt. */
  | { kind: 'leapt'; reason: string }
  /** The thread that moves the write-ahead log ended by itself; another follows. */
  | { kind: 'checkpointsEnded'; reason: string }
  /** What is wrong with the database now; undefined when it is well again. */
  | { kind: 'storage'; fault: StorageFault | undefined }
  | { kind: 'stopped' }
