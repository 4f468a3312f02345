import type { Statement } from 'better-sqlite3'
import type { Pages, SentTrace, SentTraceRange, SpanHint } from '../../model/queries.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import type { Sqlite } from './open-database.ts'
import type { SqliteOutbox } from './outbox.ts'
import type { BytesRead } from './record-queries.ts'

/** How many outgoing traces, and how many received spans, are looked through at once. */
const TRACES_AT_ONCE = 500
const SPANS_AT_ONCE = 4_096
/** How long the spans of a trace come in: so much around the time asked for is looked through. */
const SLACK_NS = 900_000_000_000n
/** Blocks of spans whose times are remembered. */
const MOST_BLOCKS = 100_000

type Bound = string | number | bigint | Buffer

/** A condition in SQL, and the values that it names with `?`. */
interface SqlHint {
  readonly sql: string
  readonly values: readonly Bound[]
}

const NO_HINT: SqlHint = { sql: '1', values: [] }

/** About a received span `s`. */
function ofReceived(hint: SpanHint): SqlHint {
  switch (hint.kind) {
    case 'and':
    case 'or':
      return joined(hint.kind, hint.of.map(ofReceived))
    case 'holds':
      return { sql: 'instr(s.raw, ?) > 0', values: [Buffer.from(hint.text)] }
    case 'name':
      return { sql: 's.name = ?', values: [hint.value] }
    case 'kind':
      return { sql: 's.kind = ?', values: [hint.value] }
    case 'status':
      return { sql: 's.status = ?', values: [hint.value] }
    case 'duration':
      return { sql: `s.end_ns - s.start_ns ${hint.operator} ?`, values: [hint.value] }
    case 'service':
    case 'resource':
    case 'scope':
      return scopesWith(hint, 's.scope')
  }
}

/** About a span of Causeway's own making, `o`, whose bytes are in the outbox. */
function ofOwn(hint: SpanHint): SqlHint {
  switch (hint.kind) {
    case 'and':
    case 'or':
      return joined(hint.kind, hint.of.map(ofOwn))
    case 'holds':
      return { sql: 'instr(o.extra, ?) > 0', values: [Buffer.from(hint.text)] }
    case 'name':
      return { sql: 'instr(o.extra, ?) > 0', values: [Buffer.from(hint.value)] }
    case 'kind':
    case 'status':
    case 'duration':
      return NO_HINT
    case 'service':
    case 'resource':
    case 'scope':
      return scopesWith(hint, 'o.scope')
  }
}

function scopesWith(
  hint: Extract<SpanHint, { kind: 'service' | 'resource' | 'scope' }>,
  column: string,
): SqlHint {
  const found =
    hint.kind === 'service'
      ? 'resources.service = ?'
      : `instr(${hint.kind === 'resource' ? 'resources' : 'scopes'}.envelope, ?) > 0`
  return {
    sql: `${column} IN (SELECT scopes.id FROM scopes JOIN resources ON resources.id = scopes.resource WHERE ${found})`,
    values: [hint.kind === 'service' ? hint.value : Buffer.from(hint.text)],
  }
}

function joined(kind: 'and' | 'or', parts: readonly SqlHint[]): SqlHint {
  if (parts.length === 0) return NO_HINT
  return {
    sql: `(${parts.map(({ sql }) => sql).join(` ${kind.toUpperCase()} `)})`,
    values: parts.flatMap(({ values }) => values),
  }
}

/**
 * Finds sent traces, newest first: those that Causeway made of cascades, and those whose spans it passed on as they were. A hint
 * lets traces be passed over without reading their spans.
 */
export class SentTraceSearch {
  readonly #db: Sqlite
  readonly #outbox: SqliteOutbox
  readonly #read: BytesRead
  readonly #times: BlockTimes
  readonly #newestTrace: Statement<[number], number | null>
  readonly #newestSpan: Statement<[], number | null>
  readonly #originTrace: Statement<[number], Buffer>

  constructor(db: Sqlite, outbox: SqliteOutbox, read: BytesRead) {
    this.#db = db
    this.#outbox = outbox
    this.#read = read
    this.#times = new BlockTimes(db)
    this.#newestTrace = db.prepare<[number], number | null>('SELECT max(id) FROM traces WHERE id < ?').pluck()
    this.#newestSpan = db.prepare<[], number | null>('SELECT max(id) FROM spans').pluck()
    this.#originTrace = db
      .prepare<[number], Buffer>('SELECT trace_id FROM origin_traces WHERE id = ?')
      .pluck()
  }

  /** Traces made of cascades. */
  *ofCascades(
    { fromNs, toNs }: SentTraceRange,
    hint: SpanHint | undefined,
  ): Pages<SentTrace> & Generator<SentTrace[]> {
    const [received, own] = hint === undefined ? [NO_HINT, NO_HINT] : [ofReceived(hint), ofOwn(hint)]
    const hinted =
      hint === undefined
        ? '1'
        : `EXISTS (SELECT 1 FROM outbox o LEFT JOIN spans s ON s.id = o.span WHERE o.trace = traces.id
             AND CASE WHEN o.span IS NULL THEN ${own.sql} ELSE ${received.sql} END)`
    const window = this.#db.prepare<Bound[], { id: number; trace_id: Buffer }>(
      `SELECT id, trace_id FROM traces WHERE id > ? AND id < ? AND last_ns >= ? AND first_ns <= ? AND ${hinted}
       ORDER BY id DESC`,
    )
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const newest = this.#newestTrace.get(before) ?? null
      if (newest === null) return
      const after = Math.max(0, newest - TRACES_AT_ONCE)
      const rows = window.all(
        after,
        newest + 1,
        fromNs ?? MIN,
        toNs ?? MAX,
        ...own.values,
        ...received.values,
      )
      yield rows.map(({ id, trace_id }) => ({
        traceId: trace_id,
        items: () => this.#outbox.itemsOfTrace(id, this.#read),
      }))
      before = after + 1
    }
  }

  /** Traces of spans that were passed on in the trace in which they came. */
  *forwarded(
    { fromNs, toNs }: SentTraceRange,
    hint: SpanHint | undefined,
  ): Pages<SentTrace> & Generator<SentTrace[]> {
    const { sql, values } = hint === undefined ? NO_HINT : ofReceived(hint)
    const window = this.#db
      .prepare<Bound[], number>(
        `SELECT DISTINCT s.origin FROM spans s WHERE s.id > ? AND s.id <= ? AND ${sql}
           AND EXISTS (SELECT 1 FROM outbox WHERE outbox.trace = 0 AND outbox.span = s.id) ORDER BY s.id DESC`,
      )
      .pluck()
    const seen = new NumberSet()
    const newest = this.#newestSpan.get() ?? 0
    for (let block = Math.ceil(newest / SPANS_AT_ONCE) - 1; block >= 0; block--) {
      const found: SentTrace[] = []
      if (this.#times.mayReach(block, newest, fromNs, toNs)) {
        for (const origin of window.all(block * SPANS_AT_ONCE, (block + 1) * SPANS_AT_ONCE, ...values)) {
          if (!seen.add(origin)) continue
          const traceId = this.#originTrace.get(origin)
          if (traceId !== undefined)
            found.push({ traceId, items: () => this.#outbox.itemsOfOrigin(origin, this.#read) })
        }
      }
      yield found
    }
  }
}

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

/** Between which times the spans of a block lie. Once a block is full its rows never change, but go with retention. */
class BlockTimes {
  readonly #known = new Map<number, readonly [first: bigint, last: bigint]>()
  readonly #read: Statement<[number, number], { first: bigint | null; last: bigint | null }>

  constructor(db: Sqlite) {
    this.#read = db
      .prepare<[number, number], { first: bigint | null; last: bigint | null }>(
        'SELECT min(start_ns) AS first, max(end_ns) AS last FROM spans WHERE id > ? AND id <= ?',
      )
      .safeIntegers()
  }

  mayReach(
    block: number,
    newest: number,
    fromNs: UnixNanos | undefined,
    toNs: UnixNanos | undefined,
  ): boolean {
    if (fromNs === undefined && toNs === undefined) return true
    const [first, last] = this.#known.get(block) ?? this.#timesOf(block, newest)
    return (
      (fromNs === undefined || last >= fromNs - SLACK_NS) && (toNs === undefined || first <= toNs + SLACK_NS)
    )
  }

  #timesOf(block: number, newest: number): readonly [bigint, bigint] {
    const row = this.#read.get(block * SPANS_AT_ONCE, (block + 1) * SPANS_AT_ONCE)
    const times = [row?.first ?? MAX, row?.last ?? MIN] as const
    const isFull = newest > (block + 1) * SPANS_AT_ONCE
    if (isFull && this.#known.size < MOST_BLOCKS) this.#known.set(block, times)
    return times
  }
}

const BITS_A_PART = 65_536

/** Numbers that were seen: a bit for each, in parts that are made when they are needed. */
class NumberSet {
  readonly #parts = new Map<number, Uint8Array>()

  /** True when it was not there. */
  add(number: number): boolean {
    const key = Math.floor(number / BITS_A_PART)
    let part = this.#parts.get(key)
    if (part === undefined) this.#parts.set(key, (part = new Uint8Array(BITS_A_PART / 8)))
    const [at, bit] = [(number % BITS_A_PART) >> 3, 1 << (number & 7)]
    const before = part[at] ?? 0
    part[at] = before | bit
    return (before & bit) === 0
  }
}
