import type { Statement } from 'better-sqlite3'
import type { LinkEvent, LinkEvents, LinkPorts } from '../../model/linking-ports.ts'
import type { SqliteArrivals } from './arrivals.ts'
import { ArrivedSpanTable } from './arrived-spans.ts'
import { ArrivedLogTable } from './linked-logs.ts'
import { MergelogReader } from './merge-graph.ts'
import type { ObjectTable } from './object-versions.ts'
import type { Sqlite } from './open-database.ts'
import { DecisionTable } from './outbox.ts'
import { ChangeSpanTable, TraceActorTable, TraceTable } from './outgoing-traces.ts'
import { addContentSqlFunctions } from './repeated-records.ts'
import { LinkScopeTable } from './scopes.ts'
import type { Progress } from './transactions.ts'
import { AwaitedJoinTable, AwaitedParentTable, WaitingTable } from './waiting.ts'

/** The tables that the linker works on; `inRound` frames what it does in a transaction. */
export class LinkTables implements LinkPorts {
  readonly clock: Progress
  readonly events: LinkEventQueue
  readonly spans: ArrivedSpanTable
  readonly objects: ObjectTable
  readonly logs: ArrivedLogTable
  readonly traces: TraceTable
  readonly actors: TraceActorTable
  readonly changes: ChangeSpanTable
  readonly mergelogs: MergelogReader
  readonly scopes: LinkScopeTable
  readonly joins: AwaitedJoinTable
  readonly waiting: WaitingTable
  readonly parents: AwaitedParentTable
  readonly outbox: DecisionTable
  readonly #gauges: Statement<[], { waiting: number; openTraces: number }>

  constructor(db: Sqlite, progress: Progress, arrivals: SqliteArrivals) {
    addContentSqlFunctions(db)
    this.clock = progress
    this.objects = arrivals.objects
    this.logs = new ArrivedLogTable(db, progress)
    this.scopes = new LinkScopeTable(db, arrivals.interner)
    this.spans = new ArrivedSpanTable(db, progress, arrivals, this.scopes)
    this.traces = new TraceTable(db, progress)
    this.actors = new TraceActorTable(db)
    this.changes = new ChangeSpanTable(db)
    this.mergelogs = new MergelogReader(db)
    this.joins = new AwaitedJoinTable(db, progress, arrivals.traces)
    this.waiting = new WaitingTable(db, progress)
    this.parents = new AwaitedParentTable(db, progress, this.spans)
    this.outbox = new DecisionTable(db, progress)
    this.events = new LinkEventQueue(db, progress, this)
    this.#gauges = db.prepare(
      `SELECT (SELECT count(*) FROM waiting) + (SELECT count(*) FROM waiting_logs) AS waiting,
         (SELECT count(*) FROM traces WHERE state = 0) AS openTraces`,
    )
  }

  /** Does a round of work on what is here, and writes what it left in memory. */
  inRound<T>(work: () => T): T {
    this.spans.beginRound()
    const done = work()
    this.traces.flush()
    this.parents.flush()
    this.events.dropPassed()
    return done
  }

  forget(): void {
    const { logs, spans, scopes, traces, changes, outbox, parents, joins, waiting } = this
    for (const part of [logs, spans, scopes, traces, changes, outbox, parents, joins, waiting]) part.forget()
  }

  gauges(): { waiting: number; openTraces: number } {
    return this.#gauges.get() ?? { waiting: 0, openTraces: 0 }
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

/** The line of arrivals: spans, log records and news of the merge graph, by the numbers they have in common. */
class LinkEventQueue implements LinkEvents {
  readonly #progress: Progress
  readonly #parts: Parts
  readonly #news: Statement<[number, number], EventRow>
  readonly #drop: Statement<[number]>

  constructor(db: Sqlite, progress: Progress, parts: Parts) {
    this.#progress = progress
    this.#parts = parts
    this.#news = db.prepare(
      'SELECT arrival, cpid, kind FROM graph_events WHERE arrival > +? ORDER BY arrival LIMIT +?',
    )
    this.#drop = db.prepare('DELETE FROM graph_events WHERE arrival <= ?')
  }

  next(limit: number): LinkEvent[] {
    const { spans, logs, outbox } = this.#parts
    const after = this.#progress.linkedArrival
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

  passed(arrival: number): void {
    this.#progress.linkedArrival = arrival
  }

  passedAll(): void {
    this.#progress.linkedArrival = this.#progress.lastArrival
  }

  isLinked(arrival: number): boolean {
    return arrival <= this.#progress.linkedArrival
  }

  /** Removes the news that the linker has passed. */
  dropPassed(): void {
    this.#drop.run(this.#progress.linkedArrival)
  }
}
