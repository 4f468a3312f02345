import type { ArrivalStore } from '../../src/model/arrivals.ts'
import type {
  ChangeSpans,
  Mergelogs,
  Traces,
  UnfinishedSteps,
  WaitingItems,
} from '../../src/model/linking-ports.ts'
import type { MergeGraph } from '../../src/model/merge-graph.ts'
import type { Signal } from '../../src/model/otlp-requests.ts'
import type { PositionStore, PruneStore, Transactor, WriterReader } from '../../src/model/store-ports.ts'
import type { TestClock } from '../support/test-clock.ts'

/** The part of pruning that is about places in the graph, and not about what belongs to a CPID. */
export type GraphPruning = Pick<
  PruneStore,
  | 'candidates'
  | 'mergedAfter'
  | 'markForRemoval'
  | 'markedForRemoval'
  | 'unmark'
  | 'removeEdge'
  | 'leaveTombstone'
  | 'countCpids'
  | 'removeOldTombstones'
>

/** What an implementation of the ports hands out inside a transaction, as far as the kit looks. */
export interface Inside {
  readonly arrivals: ArrivalStore
  readonly graph: MergeGraph
  readonly pruning: GraphPruning
  readonly positions: Readonly<Record<Signal, PositionStore>>
  readonly mergelogs: Mergelogs
  readonly waiting: WaitingItems
  readonly unfinished: UnfinishedSteps
  readonly changes: ChangeSpans
  readonly traces: Traces
  /** As `Stores.linkRound`. */
  readonly linkRound: <T>(work: () => T) => T
  /** As `Stores.attempt`, of linking. */
  readonly attempt: <T>(part: () => T) => T
}

/** An implementation at work. */
export interface Opened extends Disposable {
  readonly clock: TestClock
  readonly transactor: Transactor<Inside>
  readonly reader: Pick<WriterReader, 'progress' | 'positions' | 'hasPostponedExplanation'>
  /** The same stored things, as another process finds them. */
  reopened(): Opened
}

export type Open = () => Promise<Opened>
