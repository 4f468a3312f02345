import type { Statement } from 'better-sqlite3'
import { explainMore } from '../graph/explain.ts'
import { RequestRecorder } from '../graph/record-request.ts'
import { Linker } from '../linker/linker.ts'
import type { LinkSettings } from '../linker/link-context.ts'
import type { CascadeFigures } from '../model/cascade-figures.ts'
import type { Clock } from '../model/clock.ts'
import type { Signal } from '../model/ingest.ts'
import type { LinkCounts } from '../model/link-counts.ts'
import type { Retention } from '../model/ports/prune-port.ts'
import type { SetAside } from '../model/set-aside.ts'
import type { SenderPolicy } from '../model/sender-policy.ts'
import { SqliteArrivals } from '../sqlite/writer/arrival-store.ts'
import { ExporterPositions } from '../sqlite/sending/exporter-positions.ts'
import { TRACE_INDEX_SIZES, type TraceIndexSizes } from '../sqlite/writer/indexed-traces.ts'
import { SqliteLinkStore } from '../sqlite/linking/link-store.ts'
import { SqliteMergeGraph } from '../sqlite/writer/merge-graph-store.ts'
import type { Sqlite } from '../sqlite/open-database.ts'
import { SqlitePruneStore } from '../sqlite/pruning/prune-store.ts'
import { SetAsideTable } from '../sqlite/keeping/set-aside-table.ts'
import { mostRefused, TableKeeper } from '../sqlite/keeping/table-keeper.ts'
import { Progress } from '../sqlite/progress.ts'
import { requestLimits } from '../sqlite/writer/request-table.ts'
import { TraceIndex } from '../sqlite/writer/trace-index.ts'
import { WriterTransaction, type Cached } from '../sqlite/writer-transaction.ts'
import { IngestRounds, type Ingested, type PendingRequest } from './admission/ingest-rounds.ts'
import { LinkRounds } from './linking/link-rounds.ts'
import { PruneRounds, type PruneTurn, type PruneTurnResult } from './pruning/prune-rounds.ts'
import { savePositions, type MovedExporter } from './save-positions.ts'
import type { WriterGauges } from './writer-gauges.ts'

/** Label values of one histogram that are told apart unless something else is said. */
const MAX_SERIES = 500

export interface WriterSettings {
  linking: LinkSettings
  maxSources: number
  /** How many edges may be looked at for cycles in one request that has few mergelogs; 5,000 unless given. */
  maxCycleEdges?: number
  retention: Retention
  /** Services and object kinds that metrics tell apart at most. */
  maxSeries?: number
  /** How the index of trace ids grows; as fits millions unless given. */
  traceIndex?: Partial<TraceIndexSizes>
  /** Without one everybody may send everything. */
  senders?: SenderPolicy
}

/** The one writer of the database: everything that changes it goes through here, one transaction at a time. */
export class StoreWriter {
  readonly progress: Progress
  readonly positions: Record<Signal, ExporterPositions>
  readonly #graph: SqliteMergeGraph
  readonly #maxFanout: number
  readonly #ingests: IngestRounds
  readonly #links: SqliteLinkStore
  readonly #linker: Linker
  readonly #pruneStore: SqlitePruneStore
  readonly #pruning: PruneRounds
  readonly #transaction: WriterTransaction
  readonly #asideTable: SetAsideTable
  readonly #rounds: LinkRounds
  readonly #due: Statement<[{ now: number }], number>

  constructor(db: Sqlite, settings: WriterSettings, clock: Clock) {
    this.progress = new Progress(db, clock)
    const graph = new SqliteMergeGraph(db, this.progress)
    this.#graph = graph
    this.#maxFanout = settings.linking.maxFanout
    const traces = new TraceIndex(db, this.progress, { ...TRACE_INDEX_SIZES, ...settings.traceIndex })
    const arrivals = new SqliteArrivals(db, this.progress, traces, {
      refusedMergelogs: mostRefused(settings.retention),
      requests: requestLimits(settings.retention),
    })
    this.#links = new SqliteLinkStore(db, this.progress, arrivals)
    this.positions = {
      traces: new ExporterPositions(db, 'traces'),
      logs: new ExporterPositions(db, 'logs'),
    }
    const recorder = new RequestRecorder(arrivals, graph, {
      maxSources: settings.maxSources,
      maxFanout: settings.linking.maxFanout,
      ...(settings.maxCycleEdges !== undefined && { maxCycleEdges: settings.maxCycleEdges }),
      ...(settings.senders && { senders: settings.senders }),
    })
    this.#linker = new Linker(this.#links, this.#links.logs, graph, settings.linking)
    this.#pruneStore = new SqlitePruneStore(db, this.progress, {
      graph,
      index: traces,
      rows: {
        origin: (origin) => arrivals.dropOrigin(origin),
        object: (id, object, cluster) => arrivals.objects.drop(id, object, cluster),
        trace: (id, root) => this.#links.dropTrace(id, root),
        waitingLog: () => this.#links.logs.countAgain(),
      },
    })
    this.#due = db
      .prepare<[{ now: number }], number>(
        `SELECT EXISTS (SELECT 1 FROM waiting WHERE due_ms <= @now)
           OR EXISTS (SELECT 1 FROM waiting_logs WHERE due_ms <= @now)
           OR EXISTS (SELECT 1 FROM traces WHERE state = 0 AND due_ms <= @now)`,
      )
      .pluck()
    const caches: Cached[] = [graph, arrivals, this.#links, traces, this.#pruneStore]
    this.#transaction = new WriterTransaction(db, this.progress, [
      ...caches,
      { forget: () => this.#pruning.forget() },
    ])
    this.#ingests = new IngestRounds({ transaction: this.#transaction, recorder, traces })
    this.#asideTable = new SetAsideTable(db, this.progress)
    const shared = {
      transaction: this.#transaction,
      table: this.#asideTable,
      progress: this.progress,
      caches,
    }
    this.#pruning = new PruneRounds(
      {
        ...shared,
        store: this.#pruneStore,
        graph,
        keeper: new TableKeeper(db, this.progress, settings.retention, () =>
          arrivals.interner.forgetEnvelopes(),
        ),
      },
      { retention: settings.retention, maxFanout: settings.linking.maxFanout },
    )
    const parts = {
      ...shared,
      linker: this.#linker,
      links: this.#links,
      caches: [graph, arrivals, this.#links],
    }
    this.#rounds = new LinkRounds(parts, this.progress, settings.maxSeries ?? MAX_SERIES)
  }

  /** Stores requests, as far as there is time. */
  ingest(requests: readonly PendingRequest[], mayGoOn?: () => boolean): Ingested {
    return this.#ingests.ingest(requests, mayGoOn)
  }

  /** The last decision about a span, and about a log record. */
  get lastDecisions(): Record<Signal, number> {
    return { traces: this.progress.lastDecision, logs: this.progress.lastLogDecision }
  }

  /** Arrivals stored but not linked yet. */
  get linkLag(): number {
    return this.progress.lastArrival - this.progress.linkedArrival
  }

  /** Whether there is something to link, or to explain before. */
  get isLinkDue(): boolean {
    return this.linkLag > 0 || this.#graph.hasMoreToExplain
  }

  /** Links at most `limit` arrivals, and explains what was left to explain; returns how many there were. */
  link(limit: number): number {
    const explained = this.#graph.hasMoreToExplain
      ? this.#transaction.run(() => explainMore(this.#graph, this.#maxFanout, limit), { mayOnlyRead: true })
      : 0
    return explained + this.#rounds.link(limit)
  }

  /** Lets go what has waited long enough and settles traces; true when there may be more. */
  expire(limit: number): boolean {
    return this.#rounds.expire(limit)
  }

  /** True when something has waited long enough or a trace may settle; asks without a transaction. */
  isAnythingDue(): boolean {
    this.progress.turn()
    return this.#due.get({ now: this.progress.activeMs }) === 1
  }

  /**
   * Removes about `budget` CPIDs at most, as retention wants it, and stops once `mayGoOn` says no. After a leap of the
   * calendar nothing is removed for its age for an hour, unless the caller vouches for it; `leapMs` says that it has just
   * leapt.
   */
  prune(budget: number, turn: PruneTurn = {}): PruneTurnResult {
    return this.#pruning.turn(budget, turn)
  }

  /** What the gauges show. */
  gauges(): WriterGauges {
    return {
      ...this.#links.gauges(),
      setAside: this.#asideTable.count(),
      cpids: this.#pruneStore.countCpids(),
      held: this.#pruning.held,
      tombstones: this.#pruneStore.countTombstones(),
      usedBytes: this.#pruneStore.usedBytes(),
    }
  }

  takeLinkCounts(): LinkCounts {
    return this.#linker.takeCounts()
  }

  /** Notes what could not be sent. */
  setAside(items: readonly SetAside[]): void {
    this.#transaction.run(() => {
      for (const item of items) this.#asideTable.add(item)
    })
  }

  /** Saves how far exporters have come. What cannot be saved is set aside, and all else saved. */
  savePositions(moved: Iterable<MovedExporter>): SetAside[] {
    const aside: SetAside[] = []
    this.#transaction.run(() => {
      aside.push(...savePositions(moved, this.positions, this.#transaction))
      for (const item of aside) this.#asideTable.add(item)
    })
    return aside
  }

  /** What linking and pruning set aside since the last call. */
  takeSetAside(): SetAside[] {
    return [...this.#rounds.takeSetAside(), ...this.#pruning.takeSetAside()]
  }

  /** What was measured since the last call. */
  takeFigures(): CascadeFigures {
    return this.#rounds.takeFigures()
  }

  /** Runs other work on the database in the writer's transaction. */
  run<T>(work: () => T): T {
    return this.#transaction.run(work)
  }
}
