import type {
  Cached,
  PartOf,
  Retention,
  Stores,
  WriterReader,
  WriterStores,
} from '../../model/store-ports.ts'
import type { Clock } from '../../model/time-and-size.ts'
import { requestLimits, SqliteArrivals } from './arrivals.ts'
import { maxRefusedMergelogs, TableHousekeeper } from './housekeeping.ts'
import { LinkTables } from './link-tables.ts'
import { SqliteMergeGraph } from './merge-graph.ts'
import { InferenceTables } from './observed-clusters.ts'
import { type Sqlite, sqliteFaults } from './open-database.ts'
import { ExporterPositions } from './outbox.ts'
import { SqlitePruneStore } from './pruning.ts'
import { SetAsideTable } from './set-aside.ts'
import { TRACE_INDEX_SIZES, TraceIndex, type TraceIndexSizes } from './trace-id-index.ts'
import { Progress, SqliteTransactor, WriterTransaction } from './transactions.ts'

export interface SqliteStoresSettings {
  retention: Retention
  /** How the index of trace ids grows; as fits millions unless given. */
  traceIndex?: Partial<TraceIndexSizes>
  /** By which references of observed objects others are found; a relation names them. */
  sought?: ReadonlySet<string>
}

/** Everything that is written, on the one writing connection of a database that is up to date. */
export function sqliteStores(
  db: Sqlite,
  { retention, traceIndex, sought = new Set() }: SqliteStoresSettings,
  clock: Clock,
): WriterStores {
  const progress = new Progress(db, clock)
  const graph = new SqliteMergeGraph(db, progress)
  const traces = new TraceIndex(db, progress, { ...TRACE_INDEX_SIZES, ...traceIndex })
  const arrivals = new SqliteArrivals(db, progress, traces, {
    refusedMergelogs: maxRefusedMergelogs(retention),
    requests: requestLimits(retention),
  })
  const links = new LinkTables(db, progress, arrivals)
  const positions = {
    traces: new ExporterPositions(db, 'traces'),
    logs: new ExporterPositions(db, 'logs'),
  }
  const pruning = new SqlitePruneStore(db, progress, {
    graph,
    index: traces,
    rows: {
      origin: (origin) => arrivals.dropOrigin(origin),
      object: (id, object, cluster) => arrivals.objects.drop(id, object, cluster),
      trace: (id, root) => links.traces.drop(id, root),
      waitingLog: () => links.logs.countAgain(),
    },
  })
  const inference = new InferenceTables(db, progress, sought)
  const keeper = new TableHousekeeper(db, progress, retention, {
    scopesRemoved: () => arrivals.interner.forgetEnvelopes(),
    keepObserved: () => inference.keep(),
  })
  const setAside = new SetAsideTable(db, progress)
  const caches: Record<PartOf, readonly Cached[]> = {
    linking: [graph, arrivals, links],
    pruning: [graph, arrivals, links, traces, pruning, inference],
    positions: [],
  }
  const transaction = new WriterTransaction(db, progress, caches.pruning)
  const stores: Stores = {
    arrivals,
    graph,
    links,
    pruning,
    keeper,
    marks: pruning,
    setAside,
    inference,
    positions,
    linkRound: (work) => links.inRound(work),
    attempt: (of, part) => transaction.attempt(part, caches[of]),
  }
  const isDue = dueBy(db)
  const reader: WriterReader = {
    progress,
    get hasMoreToExplain() {
      return graph.hasMoreToExplain
    },
    isAnythingDue: () => {
      progress.turn()
      return isDue(progress.activeMs)
    },
    positions: (signal) => positions[signal].all(),
    gauges: () => ({
      ...links.gauges(),
      setAside: setAside.count(),
      cpids: pruning.countCpids(),
      tombstones: pruning.countTombstones(),
      usedBytes: pruning.usedBytes(),
    }),
  }
  return {
    ...{ transactor: new SqliteTransactor(transaction, stores), reader, faults: sqliteFaults },
    together: (work) => transaction.together(work),
  }
}

/** Asks whether anything has waited until an up time, or may settle; to be asked outside of transactions too. */
function dueBy(db: Sqlite): (activeMs: number) => boolean {
  const ask = db
    .prepare<[{ now: number }], number>(
      `SELECT EXISTS (SELECT 1 FROM waiting WHERE due_ms <= @now)
         OR EXISTS (SELECT 1 FROM waiting_logs WHERE due_ms <= @now)
         OR EXISTS (SELECT 1 FROM traces WHERE state = 0 AND due_ms <= @now)`,
    )
    .pluck()
  return (activeMs) => ask.get({ now: activeMs }) === 1
}
