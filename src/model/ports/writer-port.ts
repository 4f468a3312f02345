import type { Signal } from '../ingest.ts'
import type { StorageFaults } from '../storage-fault.ts'
import type { ArrivalStore } from './arrival-port.ts'
import type { MergeGraph } from './graph-port.ts'
import type { ArrivalMarks, Housekeeper, PositionStore, SetAsideStore } from './keeping-port.ts'
import type { InferenceStore } from './inference-port.ts'
import type { LinkPorts } from './linking/link-ports.ts'
import type { PruneStore } from './prune-port.ts'
import type { Transactor } from './transactor.ts'

/** What a part of a transaction changes: all of it that is in memory is forgotten when the part is undone. */
export type PartOf = 'linking' | 'pruning' | 'positions'

/** All that can be read and written, inside one transaction. */
export interface Stores {
  readonly arrivals: ArrivalStore
  readonly graph: MergeGraph
  readonly links: LinkPorts
  readonly pruning: PruneStore
  readonly keeper: Housekeeper
  readonly marks: ArrivalMarks
  readonly setAside: SetAsideStore
  readonly inference: InferenceStore
  readonly positions: Readonly<Record<Signal, PositionStore>>
  /** Frames linking, one round in a transaction or a part of it: writes what the work left in memory. */
  readonly linkRound: <T>(work: () => T) => T
  /**
   * Does a part of the work that may fail by itself. On a throw what the part wrote is undone, and it throws on; the rest of the
   * work may go on.
   */
  readonly attempt: <T>(of: PartOf, part: () => T) => T
}

/** The counters that outlive rows, and the time at the start of the last transaction. */
export interface WriterProgress {
  /** Unix milliseconds, and milliseconds of up time. */
  readonly wallMs: number
  readonly activeMs: number
  readonly lastArrival: number
  readonly linkedArrival: number
  readonly lastDecision: number
  readonly lastLogDecision: number
}

/** How much is stored. */
export interface StoredGauges {
  waiting: number
  openTraces: number
  /** Items that were set aside and are remembered. */
  setAside: number
  cpids: number
  tombstones: number
  usedBytes: number
}

/** What may be asked at any time, between transactions too. */
export interface WriterReader {
  readonly progress: WriterProgress
  /** There is something to explain that was left for later. */
  readonly hasMoreToExplain: boolean
  /** Something has waited long enough, or a trace may settle. */
  isAnythingDue(): boolean
  /** Where each exporter stands. */
  positions(signal: Signal): Map<string, number>
  gauges(): StoredGauges
}

/** The writer's side of a database. */
export interface WriterStores {
  readonly transactor: Transactor<Stores>
  /** Commits all transactions that are run meanwhile at once, or, where `work` throws, none of them. */
  readonly together: <T>(work: () => T) => T
  readonly reader: WriterReader
  readonly faults: StorageFaults
}
