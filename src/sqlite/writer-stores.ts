import type { Clock } from '../model/clock.ts'
import type { Retention } from '../model/ports/prune-port.ts'
import type { Cached } from '../model/ports/transactor.ts'
import type { PartOf, Stores, WriterReader, WriterStores } from '../model/ports/writer-port.ts'
import { dueBy } from './due.ts'
import { InferenceTables } from './inference/inference-tables.ts'
import { SetAsideTable } from './keeping/set-aside-table.ts'
import { maxRefusedMergelogs, TableHousekeeper } from './keeping/table-keeper.ts'
import { LinkTables } from './linking/link-tables.ts'
import type { Sqlite } from './open-database.ts'
import { Progress } from './progress.ts'
import { SqlitePruneStore } from './pruning/prune-store.ts'
import { ExporterPositions } from './sending/exporter-positions.ts'
import { sqliteFaults } from './storage-fault.ts'
import { SqliteTransactor, WriterTransaction } from './writer-transaction.ts'
import { SqliteArrivals } from './writer/arrival-store.ts'
import { TRACE_INDEX_SIZES, type TraceIndexSizes } from './writer/indexed-traces.ts'
import { SqliteMergeGraph } from './writer/merge-graph-store.ts'
import { requestLimits } from './writer/request-table.ts'
import { TraceIndex } from './writer/trace-index.ts'

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
