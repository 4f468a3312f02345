import type { SetAside } from '../../model/faults.ts'
import type { LinkEvent, LinkEvents, LinkPorts } from '../../model/linking-ports.ts'
import type {
  Cached,
  PartOf,
  Retention,
  SetAsideStore,
  Stores,
  WriterReader,
  WriterDatabase,
} from '../../model/store-ports.ts'
import type { Clock } from '../../model/time-and-size.ts'
import { ArchivePositions } from './archives.ts'
import { requestLimits, SqliteArrivals } from './arrivals.ts'
import { ArrivedSpanTable } from './arrived-spans.ts'
import { HeldItemTable } from './held-items.ts'
import { maxRefusedMergelogs, TableHousekeeper } from './housekeeping.ts'
import { ArrivedLogTable } from './linked-logs.ts'
import { MetricOutbox } from './metric-outbox.ts'
import { MergelogReader, SqliteMergeGraph } from './merge-graph.ts'
import { InferenceTables } from './observed-clusters.ts'
import { type Sqlite, sqliteFaults } from './open-database.ts'
import { DecisionTable, ExporterPositions } from './outbox.ts'
import { ChangeSpanTable, TraceActorTable, TraceTable } from './outgoing-traces.ts'
import { PodPointTable } from './pod-points.ts'
import { PreparedStatements } from './prepared-statements.ts'
import { sqlitePruneStore } from './pruning.ts'
import { addContentSqlFunctions } from './repeated-records.ts'
import { LinkScopeTable } from './scopes.ts'
import { ReportedWriteTable } from './reported-writes.ts'
import { ROWS_A_BLOCK } from './span-block-facts.ts'
import { SpanBlockKeeper } from './span-block-keeper.ts'
import { TRACE_INDEX_SIZES, TraceIndex, type TraceIndexSizes } from './trace-id-index.ts'
import { Progress, SqliteTransactor, WriterTable, WriterTransaction } from './transactions.ts'
import { AwaitedJoinTable, AwaitedParentTable, UnfinishedStepTable, WaitingTable } from './waiting.ts'

export interface SqliteStoresSettings {
  retention: Retention
  /** The sizes of the index of trace ids; for millions by default. */
  traceIndex?: Partial<TraceIndexSizes>
  /** The number of rows in a block that searches may skip. */
  rowsABlock?: number
  /** The names of the references by which relations find observed objects. */
  sought?: ReadonlySet<string>
}

/** Opens all stores on the only writing connection of a migrated database. */
export function sqliteStores(
  db: Sqlite,
  { retention, traceIndex, rowsABlock = ROWS_A_BLOCK, sought = new Set() }: SqliteStoresSettings,
  clock: Clock,
): WriterDatabase {
  const progress = new Progress(db, clock)
  const graph = new SqliteMergeGraph(db, progress)
  const traces = new TraceIndex(db, progress, { ...TRACE_INDEX_SIZES, ...traceIndex })
  const arrivals = new SqliteArrivals(db, progress, traces, {
    refusedMergelogs: maxRefusedMergelogs(retention),
    requests: requestLimits(retention),
  })
  const links = linkTables(db, progress, arrivals)
  const positions = {
    traces: new ExporterPositions(db, 'traces'),
    logs: new ExporterPositions(db, 'logs'),
    metrics: new ExporterPositions(db, 'metrics'),
  }
  const pruning = sqlitePruneStore(db, progress, {
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
  const outgoingMetrics = new MetricOutbox(db, progress, retention)
  const podPoints = new PodPointTable(db, progress)
  const keeper = new TableHousekeeper(db, progress, retention, {
    scopesRemoved: () => arrivals.interner.forgetEnvelopes(),
    keepObserved: () => inference.keep(),
    keepMetrics: (isAgeKnown) => outgoingMetrics.sweep(isAgeKnown),
    removeSent: () => [positions.logs, positions.metrics].map((of) => of.removeSent()).includes(true),
  })
  const setAside = new SetAsideTable(db, progress)
  const held = new HeldItemTable(db, progress)
  const spanBlocks = new SpanBlockKeeper(db, rowsABlock)
  const caches: Record<PartOf, readonly Cached[]> = {
    pruning: [graph, arrivals, links, traces, pruning, inference, held, spanBlocks],
    positions: [],
  }
  const transaction = new WriterTransaction(db, progress, caches.pruning)
  const stores: Stores = {
    arrivals,
    graph,
    links,
    pruning,
    keeper,
    spanBlocks,
    marks: pruning,
    setAside,
    inference,
    reportedWrites: new ReportedWriteTable(db),
    held,
    metrics: {
      queue: (part) => outgoingMetrics.queue(part),
      hold: (points, cluster) => podPoints.hold(points, cluster),
      decide: (mayGoOn) => podPoints.decide(mayGoOn),
    },
    positions,
    archives: new ArchivePositions(db),
    linkRound: (work) => links.inRound(work),
    attempt: (of, part) => transaction.attempt(part, caches[of]),
  }
  const isDue = dueBy(db)
  const reader: WriterReader = {
    progress,
    get hasPostponedExplanation() {
      return graph.hasMoreToExplain
    },
    get mayStepsBeUnfinished() {
      return links.unfinished.mayBeAny
    },
    isAnythingDue: () => {
      progress.turn()
      return isDue(progress.activeMs)
    },
    areHeldItemsDue: () => {
      progress.turn()
      return held.areDue
    },
    arePodPointsDue: () => {
      progress.turn()
      return podPoints.areDue
    },
    positions: (signal) => positions[signal].all(),
    gauges: () => ({
      ...links.gauges(),
      setAside: setAside.count(),
      cpids: progress.liveCpids,
      tombstones: progress.tombstones,
      usedBytes: pruning.usedBytes(),
    }),
  }
  return {
    ...{ transactor: new SqliteTransactor(transaction, stores), reader, faults: sqliteFaults },
    inOneCommit: (work) => transaction.together(work),
  }
}

/** Returns a function that says whether a wait is over, or a trace may settle, at an up time. Works outside transactions. */
function dueBy(db: Sqlite): (activeMs: number) => boolean {
  const ask = db
    .prepare<[{ now: number }], number>(
      `SELECT EXISTS (SELECT 1 FROM unfinished_steps)
         OR EXISTS (SELECT 1 FROM waiting WHERE due_ms <= @now)
         OR EXISTS (SELECT 1 FROM waiting_logs WHERE due_ms <= @now)
         OR EXISTS (SELECT 1 FROM traces WHERE state = 0 AND due_ms <= @now)`,
    )
    .pluck()
  return (activeMs) => ask.get({ now: activeMs }) === 1
}

function linkTables(db: Sqlite, progress: Progress, arrivals: SqliteArrivals) {
  addContentSqlFunctions(db)
  const scopes = new LinkScopeTable(db, arrivals.interner)
  const spans = new ArrivedSpanTable(db, progress, arrivals, scopes)
  const logs = new ArrivedLogTable(db, progress)
  const traces = new TraceTable(db, progress)
  const changes = new ChangeSpanTable(db)
  const joins = new AwaitedJoinTable(db, progress, arrivals.traces)
  const waiting = new WaitingTable(db, progress)
  const unfinished = new UnfinishedStepTable(db, waiting)
  const parents = new AwaitedParentTable(db, progress, spans)
  const outbox = new DecisionTable(db, progress)
  const events = new LinkEventQueue(db, progress, { spans, logs, outbox })
  const cached = [logs, spans, scopes, traces, changes, outbox, parents, joins, waiting, unfinished]
  const gauges = db.prepare<[], { waiting: number; openTraces: number }>(
    `SELECT (SELECT count(*) FROM waiting) + (SELECT count(*) FROM waiting_logs) AS waiting,
       (SELECT count(*) FROM traces WHERE state = 0) AS openTraces`,
  )
  const ports = {
    ...{ clock: progress, objects: arrivals.objects, events, spans, logs, traces, changes, scopes, joins },
    ...{ waiting, unfinished, parents, outbox },
    actors: new TraceActorTable(db),
    mergelogs: new MergelogReader(db),
  } satisfies LinkPorts
  return {
    ...ports,
    /** Runs a round of linking, then writes the rows that it changed in memory. */
    inRound: <T>(work: () => T): T => {
      spans.beginRound()
      const done = work()
      traces.flush()
      parents.flush()
      events.dropPassed()
      return done
    },
    forget: () => {
      for (const part of cached) part.forget()
    },
    gauges: () => gauges.get() ?? { waiting: 0, openTraces: 0 },
  }
}

interface EventRow {
  arrival: number
  cpid: number
  kind: number
}

interface Parts {
  readonly spans: ArrivedSpanTable
  readonly logs: ArrivedLogTable
  readonly outbox: DecisionTable
}

/** The queue of arrivals: spans, log records and merge graph events, by their common numbers. */
class LinkEventQueue extends WriterTable implements LinkEvents {
  readonly #parts: Parts
  readonly #news = this.db.prepare<[number, number], EventRow>(
    'SELECT arrival, cpid, kind FROM graph_events WHERE arrival > +? ORDER BY arrival LIMIT +?',
  )
  readonly #drop = this.db.prepare<[number]>('DELETE FROM graph_events WHERE arrival <= ?')

  constructor(db: Sqlite, progress: Progress, parts: Parts) {
    super(db, progress)
    this.#parts = parts
  }

  next(limit: number): LinkEvent[] {
    const { spans, logs, outbox } = this.#parts
    const after = this.progress.linkedArrival
    const news = this.#news.all(after, limit)
    const arrived = spans.next(after, limit)
    const events: LinkEvent[] = []
    let next = 0
    const addNewsBefore = (arrival: number): void => {
      for (let one = news[next]; one !== undefined && one.arrival < arrival; one = news[++next]) {
        events.push({
          kind: one.kind === 0 ? 'mergelog' : 'explained',
          arrival: one.arrival,
          cpid: one.cpid,
        })
      }
    }
    for (const span of arrived) {
      addNewsBefore(span.row)
      events.push({ kind: 'span', arrival: span.row, span })
    }
    addNewsBefore(Infinity)
    if (events.length > limit) events.length = limit
    const all = logs.addEvents(events, after, limit)
    for (const event of all) if (event.kind === 'span') outbox.firstLinked(event.span.row)
    return all
  }

  moveTo(arrival: number): void {
    this.progress.linkedArrival = arrival
  }

  moveToEnd(): void {
    this.progress.linkedArrival = this.progress.lastArrival
  }

  isLinked(arrival: number): boolean {
    return arrival <= this.progress.linkedArrival
  }

  /** Removes events of the merge graph that the linker has passed. */
  dropPassed(): void {
    this.#drop.run(this.progress.linkedArrival)
  }
}

/** The most items that are stored; the oldest are removed. Far fewer suffice to find the cause. */
const MAX_ROWS = 1_000

type Found = { item: number; kind: string; cpid: number | null }

/** Returns a row of `waiting` as an item to set aside. */
const WAITED = "RETURNING arrival AS item, iif(kind = 1, 'change', 'span') AS kind, cpid"
const WAITED_LOG = "RETURNING arrival AS item, 'log record' AS kind, cpid"

/** Items that were set aside; skips items for linking and pruning. */
class SetAsideTable implements SetAsideStore {
  readonly #progress: Progress
  readonly #sql: PreparedStatements

  constructor(db: Sqlite, progress: Progress) {
    this.#progress = progress
    this.#sql = new PreparedStatements(db)
  }

  skipStep(reason: string): SetAside | undefined {
    const [step] = this.#sql.rows<{ arrival: number; isLog: number; moved: number | null }>(
      `DELETE FROM unfinished_steps WHERE id = (SELECT min(id) FROM unfinished_steps)
       RETURNING arrival, kind = 4 AS isLog, iif(kind = 5, cpid, NULL) AS moved`,
    )
    if (step === undefined) return undefined
    const { arrival, isLog, moved } = step
    if (moved !== null) return this.#noted('linking', { item: arrival, kind: 'change', cpid: moved }, reason)
    const [table, returning] = isLog === 1 ? ['waiting_logs', WAITED_LOG] : ['waiting', WAITED]
    const [found] = this.#sql.rows<Found>(`DELETE FROM ${table} WHERE arrival = ? ${returning}`, arrival)
    const kind = isLog === 1 ? 'log record' : 'span'
    return this.#noted('waiting', found ?? { item: arrival, kind, cpid: null }, reason)
  }

  skipArrival(reason: string): SetAside | undefined {
    const after = this.#progress.linkedArrival
    const [found] = this.#sql.rows<Found>(
      `SELECT item, kind, cpid FROM (
         SELECT * FROM (SELECT id AS item, 'span' AS kind, cpid FROM spans WHERE id > @after ORDER BY id LIMIT 1)
         UNION ALL SELECT * FROM (SELECT arrival, iif(kind = 0, 'mergelog', 'explained'), cpid FROM graph_events
           WHERE arrival > @after ORDER BY arrival LIMIT 1)
         UNION ALL SELECT * FROM (SELECT id, 'log record', cpid FROM logs WHERE id > @after ORDER BY id LIMIT 1)
       ) ORDER BY item LIMIT 1`,
      { after },
    )
    if (found !== undefined) this.#progress.linkedArrival = found.item
    return found && this.#noted('linking', found, reason)
  }

  skipWaiting(of: 'waiting' | 'waitingLogs', reason: string): SetAside | undefined {
    const [table, returning] = of === 'waiting' ? ['waiting', WAITED] : ['waiting_logs', WAITED_LOG]
    const [found] = this.#sql.rows<Found>(
      `DELETE FROM ${table} WHERE arrival =
         (SELECT arrival FROM ${table} WHERE due_ms <= ? ORDER BY due_ms, arrival LIMIT 1) ${returning}`,
      this.#progress.activeMs,
    )
    return found && this.#noted('waiting', found, reason)
  }

  skipTrace(reason: string): SetAside | undefined {
    const [found] = this.#sql.rows<Found>(
      `UPDATE traces SET state = 1 WHERE id =
         (SELECT id FROM traces WHERE state = 0 AND due_ms <= ? ORDER BY due_ms LIMIT 1)
       RETURNING id AS item, 'trace' AS kind, root AS cpid`,
      this.#progress.activeMs,
    )
    return found && this.#noted('settling', found, reason)
  }

  addUnprunable(cpid: number, reason: string): SetAside {
    return this.#noted('pruning', { item: cpid, kind: 'cpid', cpid }, reason)
  }

  add({ stage, kind, item, cpid, exporter, reason }: SetAside): void {
    const atMs = this.#progress.wallMs
    const [added] = this.#sql.rows<{ id: number }>(
      `INSERT OR IGNORE INTO set_aside (at_ms, stage, kind, item, cpid, exporter, reason) VALUES (?, ?, ?, ?, ?, ?, ?)
       RETURNING id`,
      ...[atMs, stage, kind, item, cpid ?? null, exporter ?? '', reason],
    )
    if (added !== undefined) this.#sql.run('DELETE FROM set_aside WHERE id <= ?', added.id - MAX_ROWS)
  }

  count(): number {
    return this.#sql.number('SELECT count(*) FROM set_aside') ?? 0
  }

  #noted(stage: SetAside['stage'], { kind, item, cpid }: Found, reason: string): SetAside {
    const [named] = this.#sql.rows<{ text: string }>('SELECT text FROM cpids WHERE id = ?', cpid)
    const aside: SetAside = { stage, kind, item, cpid: named?.text, exporter: undefined, reason }
    this.add(aside)
    return aside
  }
}
