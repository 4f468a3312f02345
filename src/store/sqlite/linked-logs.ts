import type { Statement } from 'better-sqlite3'
import { CPID_ID } from '../../model/attributes.ts'
import type {
  ArrivedLog,
  ArrivedSpan,
  LinkEvent,
  LogDecision,
  LogLinkStore,
  LogWaitingKind,
} from '../../model/linking-ports.ts'
import { hasOwnAttribute } from '../../model/otlp/outgoing-records.ts'
import { GenerationCache } from './generation-cache.ts'
import { LOG_IS_REPEAT } from './repeated-records.ts'
import { WriterTable } from './transactions.ts'

/** A flag of `log_outbox.flags`. */
export const LOG_WITHOUT_SPAN_ID = 1

const KINDS: readonly LogWaitingKind[] = ['cpid', 'span']
const MISSED_SPANS = 10_000
const NO_TRACE = Buffer.alloc(16)

type LogRow = [
  id: bigint,
  cpid: bigint | null,
  traceId: Buffer | null,
  spanId: bigint,
  raw: Buffer | null,
  repeated: bigint,
]

/** Linked log records. */
export class ArrivedLogTable extends WriterTable implements LogLinkStore {
  readonly #next = this.#logs<[number, number, number]>(
    'WHERE l.id > +? AND l.id <= +? ORDER BY l.id LIMIT +?',
  )
  readonly #one = this.#logs<[number]>('WHERE l.id = ?')
  readonly #wait = this.db.prepare(
    'INSERT INTO waiting_logs (arrival, kind, cpid, trace_id, span_id, due_ms) VALUES (?, ?, ?, ?, ?, ?)',
  )
  readonly #stop = this.column<[number], number>('DELETE FROM waiting_logs WHERE arrival = ? RETURNING kind')
  readonly #forCpid = this.#rows<[number]>('WHERE cpid = +? AND kind = 0 ORDER BY arrival')
  readonly #forSpan = this.#rows<
    [bigint, number]
  >(`WHERE kind = 1 AND span_id = ? AND trace_id = (SELECT trace_id FROM origin_traces WHERE id = ?)
       ORDER BY arrival`)
  readonly #due = this.#rows<[number, number]>('WHERE due_ms <= ? ORDER BY due_ms, arrival LIMIT ?')
  readonly #countForSpans = this.column<[], number>('SELECT count(*) FROM waiting_logs WHERE kind = 1')
  readonly #insert = this.db.prepare(
    'INSERT INTO log_outbox (decision, log, trace_id, flags, cpid) VALUES (?, ?, ?, ?, ?)',
  )
  readonly #remove = this.db.prepare('DELETE FROM logs WHERE id = ?')
  /** Since when spans are missed. Lost on restart; then they count as missed from then on. */
  readonly #missed = new GenerationCache<string, number>(MISSED_SPANS)
  /** How many log records wait for a span: while none does, spans need no query. */
  #waitingForSpans: number | undefined

  #rows<Bind extends unknown[]>(rest: string): Statement<Bind, number> {
    return this.column<Bind, number>(`SELECT arrival FROM waiting_logs ${rest}`)
  }

  #logs<Bind extends unknown[]>(rest: string): Statement<Bind, LogRow> {
    return this.exactRows<Bind, LogRow>(
      `SELECT l.id, l.cpid, l.trace_id, l.span_id, CASE WHEN l.cpid IS NULL AND l.span_id <> 0 THEN l.raw END,
         ${LOG_IS_REPEAT} FROM logs l ${rest}`,
    ).raw()
  }

  /** Merges these events with the log records after an arrival; the first `limit`, in order. */
  addEvents(events: LinkEvent[], after: number, limit: number): LinkEvent[] {
    // Records beyond the last event need not be readable yet.
    const end = (events.length < limit ? undefined : events.at(-1)?.arrival) ?? Number.MAX_SAFE_INTEGER
    const logs = this.#next.all(after, end, limit).map((row): LinkEvent => {
      const log = logOf(row)
      return { kind: 'log', arrival: log.row, log }
    })
    if (logs.length === 0) return events
    return [...events, ...logs].sort((a, b) => a.arrival - b.arrival).slice(0, limit)
  }

  log(row: number): ArrivedLog | undefined {
    const found = this.#one.get(row)
    return found === undefined ? undefined : logOf(found)
  }

  removeRepeated(row: number): void {
    this.#remove.run(row)
  }

  wait({ row, cpid, traceId, spanId }: ArrivedLog, kind: LogWaitingKind, dueMs: number): void {
    this.#wait.run(row, KINDS.indexOf(kind), cpid ?? null, traceId ?? null, spanId, dueMs)
    if (kind === 'span' && this.#waitingForSpans !== undefined) this.#waitingForSpans++
  }

  stopWaiting(row: number): boolean {
    const kind = this.#stop.get(row)
    if (kind === KINDS.indexOf('span') && this.#waitingForSpans !== undefined) this.#waitingForSpans--
    return kind !== undefined
  }

  waitingForCpid(cpid: number): number[] {
    return this.#forCpid.all(cpid)
  }

  waitingForSpan({ spanId, origin }: ArrivedSpan): number[] {
    this.#waitingForSpans ??= this.#countForSpans.get() ?? 0
    return this.#waitingForSpans === 0 ? [] : this.#forSpan.all(spanId, origin)
  }

  due(limit: number): number[] {
    return this.#due.all(this.progress.activeMs, limit)
  }

  spanMissedSince(traceId: Buffer, spanId: bigint): number {
    const key = `${traceId.toString('latin1')}${spanId}`
    const since = this.#missed.get(key) ?? this.progress.activeMs
    this.#missed.set(key, since)
    return since
  }

  send({ log, traceId, withoutSpanId, inherited }: LogDecision): void {
    this.#insert.run(
      this.progress.nextLogDecision(),
      log,
      traceId ?? null,
      withoutSpanId ? LOG_WITHOUT_SPAN_ID : 0,
      inherited ?? null,
    )
  }

  /** Call it after other code removed waiting log records. */
  countAgain(): void {
    this.#waitingForSpans = undefined
  }

  /** `#missed` stays valid after a rollback. */
  forget(): void {
    this.#waitingForSpans = undefined
  }
}

function logOf([id, cpid, traceId, spanId, raw, repeated]: LogRow): ArrivedLog {
  const hasTrace = traceId !== null && !traceId.equals(NO_TRACE)
  return {
    row: Number(id),
    cpid: cpid === null ? undefined : Number(cpid),
    traceId: hasTrace ? traceId : undefined,
    spanId: hasTrace ? spanId : 0n,
    repeated: repeated === 1n,
    malformed: raw !== null && hasOwnAttribute(raw, CPID_ID),
  }
}
