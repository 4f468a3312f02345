import type { Statement } from 'better-sqlite3'
import type { LinkPorts } from '../../model/ports/linking/link-ports.ts'
import type { Sqlite } from '../open-database.ts'
import type { Progress } from '../progress.ts'
import type { SqliteArrivals } from '../writer/arrival-store.ts'
import { MergelogReader } from '../writer/mergelog-reader.ts'
import type { ObjectTable } from '../writer/object-table.ts'
import { AwaitedParentTable } from './awaited-parent-table.ts'
import { ChangeSpanTable } from './change-span-table.ts'
import { DecisionTable } from './decision-table.ts'
import { JoinTable } from './join-table.ts'
import { LinkEventQueue } from './link-events.ts'
import { LinkScopeTable } from './link-scopes.ts'
import { SqliteLogLinks } from './log-link-store.ts'
import { addContentFunctions } from './sent-once.ts'
import { SpanReader } from './span-reader.ts'
import { TraceActorTable } from './trace-actor-table.ts'
import { TraceTable } from './trace-table.ts'
import { WaitingTable } from './waiting-table.ts'

/** The tables that the linker works on; `inRound` frames what it does in a transaction. */
export class LinkTables implements LinkPorts {
  readonly clock: Progress
  readonly events: LinkEventQueue
  readonly spans: SpanReader
  readonly objects: ObjectTable
  readonly logs: SqliteLogLinks
  readonly traces: TraceTable
  readonly actors: TraceActorTable
  readonly changes: ChangeSpanTable
  readonly mergelogs: MergelogReader
  readonly scopes: LinkScopeTable
  readonly joins: JoinTable
  readonly waiting: WaitingTable
  readonly parents: AwaitedParentTable
  readonly outbox: DecisionTable
  readonly #gauges: Statement<[], { waiting: number; openTraces: number }>

  constructor(db: Sqlite, progress: Progress, arrivals: SqliteArrivals) {
    addContentFunctions(db)
    this.clock = progress
    this.objects = arrivals.objects
    this.logs = new SqliteLogLinks(db, progress)
    this.scopes = new LinkScopeTable(db, arrivals.interner)
    this.spans = new SpanReader(db, progress, arrivals, this.scopes)
    this.traces = new TraceTable(db, progress)
    this.actors = new TraceActorTable(db)
    this.changes = new ChangeSpanTable(db)
    this.mergelogs = new MergelogReader(db)
    this.joins = new JoinTable(db, progress, arrivals.traces)
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
