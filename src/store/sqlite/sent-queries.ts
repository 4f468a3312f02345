import type { Statement } from 'better-sqlite3'
import { readOwnSpan } from '../../model/otlp/read-stored-span.ts'
import type { OutboxItem } from '../../model/outbox.ts'
import type { Pages, TraceFacts, TraceRange } from '../../model/queries.ts'
import { MIB } from '../../model/time-and-size.ts'
import { TRACE_COLUMNS, traceFactsOf, type TraceRow } from './cascade-queries.ts'
import type { Sqlite } from './open-database.ts'
import { SqliteOutbox } from './outbox.ts'
import type { BytesRead } from './record-queries.ts'

/** How many traces are looked through at once. */
const WINDOW = 2_000
const DECISIONS_A_PAGE = 500

interface RangeBind {
  least: number
  before: number
  from: bigint | null
  to: bigint | null
  service: string | null
}

/** Finds outgoing traces as backends know them. */
export class SentTraces {
  readonly #items: SentItems
  readonly #byId: Statement<[Buffer], number>
  readonly #forwarded: Statement<[{ id: Buffer }], number>
  readonly #newest: Statement<[number], number | null>
  readonly #window: Statement<[RangeBind], TraceRow>
  readonly #lastDecision: Statement<[], number | null>
  readonly #decisions: Statement<[number, number], number>

  constructor(db: Sqlite, items: SentItems) {
    this.#items = items
    this.#byId = db.prepare<[Buffer], number>('SELECT id FROM traces WHERE trace_id = ?').pluck()
    // CROSS JOIN: left to itself, SQLite begins with everything that was ever forwarded.
    this.#forwarded = db
      .prepare<[{ id: Buffer }], number>(
        `SELECT outbox.decision FROM (SELECT origin FROM origin_trace_index WHERE trace_id = @id
           UNION SELECT id FROM origin_traces
             WHERE id > (SELECT indexed_origins FROM progress) AND trace_id = @id) found
         CROSS JOIN spans ON spans.origin = found.origin
         CROSS JOIN outbox ON outbox.trace = 0 AND outbox.span = spans.id ORDER BY 1`,
      )
      .pluck()
    this.#newest = db.prepare<[number], number | null>('SELECT max(id) FROM traces WHERE id < ?').pluck()
    this.#window = db
      .prepare<[RangeBind], TraceRow>(
        `SELECT ${TRACE_COLUMNS} FROM traces WHERE id >= @least AND id < @before
           AND (@from IS NULL OR last_ns >= @from) AND (@to IS NULL OR first_ns <= @to)
           AND (@service IS NULL OR EXISTS
             (SELECT 1 FROM trace_services WHERE trace_services.trace = traces.id AND trace_services.service = @service)
             OR EXISTS (SELECT 1 FROM mergelogs JOIN scopes ON scopes.id = mergelogs.scope
               JOIN resources ON resources.id = scopes.resource
               WHERE mergelogs.cpid = traces.root AND resources.service = @service))
         ORDER BY id DESC`,
      )
      .safeIntegers()
    this.#lastDecision = db.prepare<[], number | null>('SELECT max(decision) FROM outbox').pluck()
    this.#decisions = db
      .prepare<[number, number], number>(
        'SELECT decision FROM outbox WHERE decision > ? AND decision <= ? ORDER BY decision DESC',
      )
      .pluck()
  }

  /** What a backend has under this trace id: an outgoing trace, or spans forwarded in their own. */
  withId(traceId: Buffer): Pages<OutboxItem> | undefined {
    const trace = this.#byId.get(traceId)
    const forwarded = this.#forwarded.all({ id: traceId })
    return trace === undefined && forwarded.length === 0 ? undefined : this.#both(trace, forwarded)
  }

  /** Newest first. */
  *inRange({ fromNs, toNs, service }: TraceRange): Pages<TraceFacts> & Generator<TraceFacts[]> {
    const bind = { from: fromNs ?? null, to: toNs ?? null, service: service ?? null }
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const newest = this.#newest.get(before) ?? null
      if (newest === null) return
      const least = newest - WINDOW
      yield this.#window.all({ ...bind, least, before }).map(traceFactsOf)
      before = least
    }
  }

  /** Everything sent, newest first. */
  *lately(): Pages<OutboxItem> & Generator<OutboxItem[]> {
    for (let upTo = this.#lastDecision.get() ?? 0; upTo > 0; upTo -= DECISIONS_A_PAGE) {
      yield* this.#items.of(this.#decisions.all(upTo - DECISIONS_A_PAGE, upTo))
    }
  }

  *#both(trace: number | undefined, forwarded: readonly number[]): Generator<readonly OutboxItem[]> {
    if (trace !== undefined) yield* this.#items.into(trace)
    yield* this.#items.of(forwarded)
  }
}

/** A page has so many items, or fewer of so many bytes, or one that is larger. */
const ITEMS_A_PAGE = 500
const PAGE_BYTES = MIB

/** Reads what was sent into traces, as exporters read it. */
export class SentItems {
  readonly #outbox: SqliteOutbox
  readonly #read: BytesRead

  constructor(db: Sqlite, read: BytesRead) {
    this.#outbox = new SqliteOutbox(db)
    this.#read = read
  }

  /** Everything, in the order in which it was sent. */
  *into(trace: number): Pages<OutboxItem> & Generator<OutboxItem[]> {
    yield* this.of(Float64Array.from(this.#outbox.decisionsOf(trace)))
  }

  /** What these decisions sent, in their order. */
  *of(decisions: Iterable<number>): Pages<OutboxItem> & Generator<OutboxItem[]> {
    let items: OutboxItem[] = []
    let bytes = 0
    for (const decision of decisions) {
      const item = this.#outbox.item(decision)
      if (item === undefined) continue
      items.push(item)
      const length = (item.raw?.length ?? 0) + (item.extra?.length ?? 0)
      bytes += length
      this.#read.add(length)
      if (items.length < ITEMS_A_PAGE && bytes < PAGE_BYTES) continue
      yield items
      ;[items, bytes] = [[], 0]
    }
    yield items
  }

  /** Spans with this id. */
  withId(trace: number, spanId: bigint): OutboxItem[] {
    const { received, own } = this.#outbox.decisionsOfSpan(trace, spanId)
    if (received.length > 0) return received.flatMap((decision) => this.#outbox.item(decision) ?? [])
    for (const page of this.of(own)) {
      const found = page.filter(({ raw }) => raw !== undefined && readOwnSpan(raw).spanId === spanId)
      if (found.length > 0) return found
    }
    return []
  }
}
