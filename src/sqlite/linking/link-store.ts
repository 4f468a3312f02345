import type { Statement } from 'better-sqlite3'
import type { UnixNanos } from '../../model/clock.ts'
import type {
  ArrivedSpan,
  AwaitedParent,
  ChangeSpan,
  LinkEvent,
  LinkStore,
  Placed,
  SpanDecision,
  StoredMergelog,
  SyntheticDecision,
  Trace,
  Waiting,
} from '../../model/ports/link-port.ts'
import type { SqliteArrivals } from '../writer/arrival-store.ts'
import { AwaitedParents } from './awaited-parents.ts'
import { ChangeSpanTable } from './change-span-table.ts'
import { SqliteLogLinks } from './log-link-store.ts'
import { MergelogReader } from '../writer/mergelog-reader.ts'
import type { ObjectTable } from '../writer/object-table.ts'
import type { Sqlite } from '../open-database.ts'
import { OutboxWriter } from './outbox-writer.ts'
import type { Progress } from '../progress.ts'
import { SpanReader } from './span-reader.ts'
import { SyntheticScopes } from './synthetic-scopes.ts'
import { TraceTable } from './trace-table.ts'
import { WaitingTable } from './waiting-table.ts'

/** What the linker works on, in SQLite; `inRound` frames what it does in a transaction. */
export class SqliteLinkStore implements LinkStore {
  readonly waiting: WaitingTable
  readonly logs: SqliteLogLinks
  readonly objects: ObjectTable
  readonly #progress: Progress
  readonly #arrivals: SqliteArrivals
  readonly #spans: SpanReader
  readonly #traces: TraceTable
  readonly #changes: ChangeSpanTable
  readonly #outbox: OutboxWriter
  readonly #awaited: AwaitedParents
  readonly #mergelogs: MergelogReader
  readonly #synthetic: SyntheticScopes
  readonly #gauges: Statement<[], { waiting: number; openTraces: number }>

  constructor(db: Sqlite, progress: Progress, arrivals: SqliteArrivals) {
    this.#progress = progress
    this.logs = new SqliteLogLinks(db, progress)
    this.#arrivals = arrivals
    this.objects = arrivals.objects
    this.waiting = new WaitingTable(db, progress)
    this.#spans = new SpanReader(db, arrivals.traces)
    this.#traces = new TraceTable(db, progress)
    this.#changes = new ChangeSpanTable(db)
    this.#outbox = new OutboxWriter(db, progress)
    this.#awaited = new AwaitedParents(db, progress)
    this.#mergelogs = new MergelogReader(db)
    this.#gauges = db.prepare(
      `SELECT (SELECT count(*) FROM waiting) + (SELECT count(*) FROM waiting_logs) AS waiting,
         (SELECT count(*) FROM traces WHERE state = 0) AS openTraces`,
    )
    this.#synthetic = new SyntheticScopes(db, arrivals.interner)
  }

  get activeMs(): number {
    return this.#progress.activeMs
  }

  get wallMs(): number {
    return this.#progress.wallMs
  }

  /** Does a round of work on what is here, and writes what it left in memory. */
  inRound<T>(work: () => T): T {
    this.#spans.beginRound()
    const done = work()
    this.#traces.flush()
    this.#awaited.flush()
    this.#spans.dropEvents(this.#progress.linkedArrival)
    return done
  }

  /** The trace is gone. */
  dropTrace(id: number, root: number): void {
    this.#traces.drop(id, root)
  }

  forget(): void {
    this.logs.forget()
    for (const part of [this.#spans, this.#traces, this.#changes, this.#outbox, this.#awaited]) part.forget()
  }

  gauges(): { waiting: number; openTraces: number } {
    return this.#gauges.get() ?? { waiting: 0, openTraces: 0 }
  }

  nextEvents(limit: number): LinkEvent[] {
    const { linkedArrival } = this.#progress
    const events = this.logs.addEvents(this.#spans.nextEvents(linkedArrival, limit), linkedArrival, limit)
    for (const event of events) if (event.kind === 'span') this.#outbox.firstLinked(event.span.row)
    return events
  }

  linkedUpTo(arrival: number): void {
    this.#progress.linkedArrival = arrival
  }

  linkedAll(): void {
    this.#progress.linkedArrival = this.#progress.lastArrival
  }

  isLinked(arrival: number): boolean {
    return arrival <= this.#progress.linkedArrival
  }

  span(row: number): ArrivedSpan | undefined {
    return this.#spans.span(row)
  }

  spansOfCpid(cpid: number): ArrivedSpan[] {
    return this.#spans.spansOfCpid(cpid)
  }

  childrenWithoutCpid(origin: number, parentId: bigint): ArrivedSpan[] {
    return this.#spans.childrenWithoutCpid(origin, parentId).filter((span) => this.isLinked(span.row))
  }

  linksOf(row: number): { traceId: Buffer; spanId: bigint }[] {
    return this.#spans.linksOf(row)
  }

  findSpan(originTraceId: Buffer, spanId: bigint): number | undefined {
    return this.#spans.find(originTraceId, spanId)
  }

  inheritCpid(span: ArrivedSpan, cpid: number): void {
    span.cpid = cpid
    span.inherited = true
    this.#spans.setInheritedCpid(span.row, cpid)
    this.#arrivals.addCpidOrigin(cpid, span.origin)
  }

  removeRepeated(span: ArrivedSpan): void {
    if (span.observes || span.writes) this.objects.remove(span.row)
    this.#spans.remove(span.row)
  }

  trace(id: number): Trace | undefined {
    return this.#traces.trace(id)
  }

  currentTrace(root: number): Trace | undefined {
    return this.#traces.currentOf(root)
  }

  tracesOfRoot(root: number): Trace[] {
    return this.#traces.ofRoot(root)
  }

  partsOf(cascade: number): Trace[] {
    return this.#traces.partsOf(cascade)
  }

  servicesIn(cascade: number): number {
    return this.#traces.servicesIn(cascade)
  }

  addTrace(trace: Omit<Trace, 'id' | 'cascade'>, continues: Trace | undefined): Trace {
    return this.#traces.add(trace, continues)
  }

  touch(trace: Trace): void {
    this.#traces.touch(trace)
  }

  addService(trace: Trace, service: string): boolean {
    return this.#traces.addService(trace, service)
  }

  dueTraces(limit: number): Trace[] {
    return this.#traces.due(limit)
  }

  countMissing(trace: Trace): number {
    return this.#traces.countMissing(trace)
  }

  changeSpan(cpid: number, trace: number): ChangeSpan | undefined {
    return this.#changes.find(cpid, trace)
  }

  addChangeSpan(cpid: number, change: ChangeSpan): void {
    this.#changes.add(cpid, change)
  }

  newestChangeSpans(cpid: number, most: number): ChangeSpan[] {
    return this.#changes.newest(cpid, most)
  }

  cpidsIn(trace: number): number[] {
    return this.#changes.cpidsIn(trace)
  }

  mergelog(cpid: number): StoredMergelog | undefined {
    return this.#mergelogs.find(cpid)
  }

  firstSpanNs(cpid: number, fromNs: UnixNanos, toNs: UnixNanos): UnixNanos | undefined {
    return this.#spans.firstStart(cpid, fromNs, toNs)
  }

  wasSent(trace: number, row: number): boolean {
    return this.#outbox.wasSent(trace, row)
  }

  send(decision: SpanDecision): void {
    this.#outbox.send(decision)
  }

  sendSynthetic(decision: SyntheticDecision): void {
    this.#outbox.sendSynthetic(decision)
  }

  tracesOfSpan(row: number): number[] {
    return this.#outbox.tracesOfSpan(row)
  }

  placed(trace: number, row: number): Placed | undefined {
    return this.#outbox.placed(trace, row)
  }

  awaitParent(origin: number, spanId: bigint, trace: number, cpid: number | undefined): void {
    this.#awaited.add(origin, spanId, trace, cpid)
  }

  awaitedSince(origin: number, spanId: bigint): number | undefined {
    return this.#awaited.since(origin, spanId)
  }

  takeAwaited(span: ArrivedSpan): AwaitedParent[] {
    const mayBeStored = span.awaited || !this.#spans.isOfThisRound(span.row)
    return this.#awaited.take(span.origin, span.spanId, mayBeStored)
  }

  wait(waiting: Waiting, dueMs: number): void {
    this.waiting.add(waiting, dueMs)
  }

  isWaiting(row: number): boolean {
    return this.waiting.hasSpan(row)
  }

  stopWaiting(arrival: number): boolean {
    return this.waiting.remove(arrival)
  }

  waitingForCpid(cpid: number): Waiting[] {
    return this.waiting.forCpid(cpid)
  }

  waitingForParent(origin: number, parentId: bigint): Waiting[] {
    return this.waiting.forParent(origin, parentId)
  }

  dueWaiting(limit: number): Waiting[] {
    return this.waiting.due(limit)
  }

  syntheticScope(senderScope: number | undefined): number {
    return this.#synthetic.under(senderScope)
  }

  envelopeBytes(scope: number): number {
    return this.#spans.envelopeBytes(scope)
  }
}
