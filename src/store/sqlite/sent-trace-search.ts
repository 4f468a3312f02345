import type { Pages, SentSpan, SentTrace, SentTraceRange, SpanHint, SpanTest } from '../../model/queries.ts'
import { type OutboxItem, SENT_INHERITED_CPID, SENT_PATCHED } from '../../model/outbox.ts'
import { MIB, type UnixNanos } from '../../model/time-and-size.ts'
import { type Bound, LONG_S, LongTracesOfBlocks, type SqlHint } from './long-traces.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import type { SqliteOutbox } from './outbox.ts'
import type { BytesRead } from './record-queries.ts'
import { SentSpanSearch } from './sent-span-search.ts'
import { addOwnSpanFunctions, OWN_DURATION, OWN_KIND } from './span-block-facts.ts'
import { blockTest, type BlockTest, SpanBlocks, type TestedRows } from './span-blocks.ts'

/** How many outgoing traces are searched at a time; fewer if their spans are large. */
const TRACES_AT_ONCE = 500
/** Up to this many traces of a window are read one by one. With more, the whole range of rows is read. */
const FEW = 200
/** The spans of a trace that is not long are within this time of each other. */
const SLACK_NS = BigInt(2 * LONG_S) * 1_000_000_000n
/** The most blocks of spans whose time ranges are cached. */
const MOST_BLOCKS = 100_000

const NO_HINT: SqlHint = { sql: '1', values: [] }

/** The SQL condition for a received span `s`. */
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
    case 'names':
    case 'services':
      return NO_HINT
    case 'service':
    case 'resource':
    case 'scope':
      return scopesWith(hint, 's.scope')
  }
}

/** The SQL condition for a span `o` of Causeway's own, whose bytes are in the outbox. */
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
      return { sql: `${OWN_KIND}(o.extra) = ?`, values: [hint.value] }
    case 'status':
      // Causeway's own spans have no status.
      return { sql: '0', values: [] }
    case 'duration':
      return { sql: `${OWN_DURATION}(o.extra) ${hint.operator} ?`, values: [hint.value] }
    case 'names':
    case 'services':
      return NO_HINT
    case 'service':
    case 'resource':
    case 'scope':
      return scopesWith(hint, 'o.scope')
  }
}

type ScopeHint = Extract<SpanHint, { kind: 'service' | 'resource' | 'scope' }>

function scopesWith(hint: ScopeHint, column: string): SqlHint {
  const { sql, values } = selectScopes(hint)
  return { sql: `${column} IN (${sql})`, values }
}

function selectScopes(hint: ScopeHint): SqlHint {
  const found =
    hint.kind === 'service'
      ? 'resources.service = ?'
      : `instr(${hint.kind === 'resource' ? 'resources' : 'scopes'}.envelope, ?) > 0`
  return {
    sql: `SELECT scopes.id FROM scopes JOIN resources ON resources.id = scopes.resource WHERE ${found}`,
    values: [hint.kind === 'service' ? hint.value : Buffer.from(hint.text)],
  }
}

/** Whether a hint searches the bytes of spans, not only their columns. */
function readsBytes(hint: SpanHint): boolean {
  return hint.kind === 'holds' || ('of' in hint && hint.of.some(readsBytes))
}

function joined(kind: 'and' | 'or', parts: readonly SqlHint[]): SqlHint {
  if (parts.length === 0) return NO_HINT
  return {
    sql: `(${parts.map(({ sql }) => sql).join(` ${kind.toUpperCase()} `)})`,
    values: parts.flatMap(({ values }) => values),
  }
}

/**
 * Finds sent traces, newest first: those of cascades, and those of forwarded spans. With a hint it can skip traces without reading their
 * spans.
 */
export class SentTraceSearch extends OnConnection {
  readonly #outbox: SqliteOutbox
  readonly #read: BytesRead
  readonly #times: BlockTimes
  readonly #longTraces: LongTracesOfBlocks
  readonly #rowsABlock: number
  readonly #received: SpanBlocks
  readonly #own: SpanBlocks
  readonly #before = this.db.prepare<[bigint, bigint, number], TraceRow>(
    `SELECT id, trace_id, sent_bytes + guest_bytes + ${BYTES_BESIDE} * (sent_spans + guest_spans) AS bytes,
            sent_to_ns >= ? AND sent_from_ns <= ? AS isIn
       FROM traces WHERE id < ? ORDER BY id DESC LIMIT ${TRACES_AT_ONCE}`,
  )
  readonly #rowsOf = this.db.prepare<[{ trace: number }], RowsOfTrace>(
    `SELECT (SELECT min(span) FROM outbox WHERE trace = @trace) AS firstSpan,
            (SELECT max(span) FROM outbox WHERE trace = @trace) AS lastSpan,
            (SELECT min(decision) FROM outbox WHERE trace = @trace AND span IS NULL) AS firstOwn,
            (SELECT max(decision) FROM outbox WHERE trace = @trace AND span IS NULL) AS lastOwn`,
  )
  readonly #isSent = this.db.prepare<[number, number]>('SELECT 1 FROM outbox WHERE trace = ? AND span = ?')
  readonly #traceOfOwn = this.db
    .prepare<[number], number>('SELECT trace FROM outbox WHERE decision = ?')
    .pluck()
  readonly #traceId = this.db.prepare<[number], Buffer>('SELECT trace_id FROM traces WHERE id = ?').pluck()
  readonly #services = this.db.prepare<[], { id: number; service: string }>(
    'SELECT scopes.id, resources.service FROM scopes JOIN resources ON resources.id = scopes.resource',
  )
  readonly #newestSpan = this.db.prepare<[], number | null>('SELECT max(id) FROM spans').pluck()
  readonly #originTrace = this.db
    .prepare<[number], Buffer>('SELECT trace_id FROM origin_traces WHERE id = ?')
    .pluck()
  readonly #bounds = this.db.prepare<[number], { least: number; most: number }>(
    'SELECT min(id) AS least, max(id) AS most FROM spans WHERE origin = ?',
  )
  readonly #bytesIn = this.db
    .prepare<[number, number], number | null>('SELECT sum(length(raw)) FROM spans WHERE id > ? AND id <= ?')
    .pluck()
  // Bytes are concatenated as text, which SQLite leaves unchanged.
  readonly #bytesOf = this.db
    .prepare<[number, number], [heads: string | null, bytes: Buffer | null]>(
      `SELECT group_concat(head, ';'), CAST(group_concat(CAST(raw AS TEXT), '') AS BLOB) FROM (
           SELECT s.id || ',' || s.origin || ',' || s.scope || ',' || o.flags || ',' || length(s.raw) AS head, s.raw AS raw
           FROM spans s CROSS JOIN outbox o ON o.trace = 0 AND o.span = s.id
           WHERE s.id > ? AND s.id <= ? ORDER BY s.id)`,
    )
    .raw()

  constructor(db: Sqlite, outbox: SqliteOutbox, read: BytesRead, rowsABlock: number) {
    super(db)
    this.#outbox = outbox
    this.#read = read
    this.#rowsABlock = rowsABlock
    addOwnSpanFunctions(db)
    this.#received = SpanBlocks.received(db, rowsABlock)
    this.#own = SpanBlocks.own(db, rowsABlock)
    this.#times = new BlockTimes(db, this.#received, rowsABlock)
    this.#longTraces = new LongTracesOfBlocks(db, this.#received.stored)
  }

  /** Finds the traces of cascades. */
  *ofCascades(
    { fromNs, toNs }: SentTraceRange,
    hint: SpanHint | undefined,
    spanTest?: SpanTest,
  ): Pages<SentTrace> & Generator<SentTrace[]> {
    const test = hint && this.#blockTest(hint)
    const tested = spanTest && {
      received: this.#received.testedBy(spanTest, this.#read),
      own: this.#own.testedBy(spanTest, this.#read),
    }
    const meets = hint === undefined ? () => true : this.#meetsIn(hint)
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const traces = this.#before.all(fromNs ?? MIN, toNs ?? MAX, before)
      let [found, bytes]: [SentTrace[], number] = [[], 0]
      for (const { id, trace_id, isIn, bytes: itsBytes } of traces) {
        before = id
        if (isIn === 0 || !(yield* this.#mayMeet(id, test, tested))) continue
        if (bytes > 0 && bytes + itsBytes > WINDOW_BYTES) {
          yield found
          ;[found, bytes] = [[], 0]
        }
        bytes += itsBytes
        if (meets(id))
          found.push({ traceId: trace_id, items: () => this.#outbox.itemsOfTrace(id, this.#read) })
      }
      yield found
      if (traces.length === 0) return
    }
  }

  /** Whether a span of the trace may meet a hint, by the summaries of its blocks. Yields empty pages if blocks are read for that. */
  *#mayMeet(
    trace: number,
    test: BlockTest | undefined,
    tested: { received: TestedRows; own: TestedRows } | undefined,
  ): Generator<SentTrace[], boolean> {
    if (test === undefined && tested === undefined) return true
    const { firstSpan, lastSpan, firstOwn, lastOwn } = this.#rowsOf.get({ trace }) ?? NO_ROWS
    const received = tested && { tested: tested.received, isOne: this.#isSentInto(trace) }
    const own = tested && {
      tested: tested.own,
      isOne: (decision: number) => this.#traceOfOwn.get(decision) === trace,
    }
    return (
      (yield* this.#received.mayHold(firstSpan, lastSpan, test, received)) ||
      (yield* this.#own.mayHold(firstOwn, lastOwn, test, own))
    )
  }

  /** Whether a received span was sent into a trace; trace 0 stands for forwarded spans. */
  #isSentInto(trace: number): (span: number) => boolean {
    return (span) => this.#isSent.get(trace, span) !== undefined
  }

  #blockTest(hint: SpanHint): BlockTest {
    return blockTest(hint, (about) => {
      if (about.kind === 'services')
        return this.#services.all().flatMap(({ id, service }) => (about.accepts(service) ? [id] : []))
      const { sql, values } = selectScopes(about)
      return this.db
        .prepare<Bound[], number>(sql)
        .pluck()
        .all(...values)
    })
  }

  /** Whether a span of a trace meets a hint. */
  #meetsIn(hint: SpanHint): (trace: number) => boolean {
    const [received, own] = [ofReceived(hint), ofOwn(hint)]
    const statement = this.db.prepare<Bound[]>(
      `SELECT 1 FROM outbox o LEFT JOIN spans s ON s.id = o.span WHERE o.trace = ?
         AND CASE WHEN o.span IS NULL THEN ${own.sql} ELSE ${received.sql} END LIMIT 1`,
    )
    return (trace) => statement.get(trace, ...own.values, ...received.values) !== undefined
  }

  /** Finds all sent spans. */
  spans({ fromNs, toNs }: SentTraceRange, hint: SpanHint | undefined): Pages<SentSpan> {
    const range = { fromNs: fromNs ?? MIN, toNs: toNs ?? MAX }
    const search = new SentSpanSearch(this.db, this.#received, this.#own, this.#read)
    return search.spans({ range, test: hint && this.#blockTest(hint) })
  }

  traceId(trace: number): Buffer | undefined {
    return this.#traceId.get(trace)
  }

  /** Finds the original traces of forwarded spans. */
  *forwarded(
    range: SentTraceRange,
    hint: SpanHint | undefined,
    spanTest?: SpanTest,
  ): Pages<SentTrace> & Generator<SentTrace[]> {
    const origins = hint === undefined ? undefined : this.#originsWith(ofReceived(hint))
    const test = hint && this.#blockTest(hint)
    const wanted = spanTest && {
      tested: this.#received.testedBy(spanTest, this.#read),
      isOne: this.#isSentInto(0),
    }
    const long = this.#longWith(range, hint)
    const seen = new NumberSet()
    const newest = this.#newestSpan.get() ?? 0
    for (let upTo = newest; upTo > 0;) {
      const block = Math.ceil(upTo / this.#rowsABlock) - 1
      const after = block * this.#rowsABlock
      let found: SentTrace[] = []
      let next = after
      if (
        this.#times.mayReach(block, newest, range.fromNs, range.toNs) &&
        (yield* this.#received.mayHold(after + 1, upTo, test, wanted))
      ) {
        if (hint !== undefined && readsBytes(hint)) next = this.#startOfWindow(after, upTo)
        const hinted = origins?.(next, upTo)
        if (hinted !== undefined && hinted.length <= FEW)
          found = hinted.filter((origin) => seen.add(origin)).flatMap((origin) => this.#traceOf(origin))
        else {
          next = this.#startOfWindow(next, upTo)
          found = this.#tracesIn(next, upTo, seen, hinted && new Set(hinted))
        }
      }
      yield found
      if (next === after && long !== undefined) yield* long(block, newest, seen)
      upTo = next
    }
  }

  /** Finds the long traces with spans in a block; undefined if there is no time range. */
  #longWith(
    { fromNs, toNs }: SentTraceRange,
    hint: SpanHint | undefined,
  ): ((block: number, newest: number, seen: NumberSet) => Generator<SentTrace[]>) | undefined {
    if (fromNs === undefined && toNs === undefined) return undefined
    const longTraces = this.#longTraces
    const meeting = longTraces.meeting(hint === undefined ? NO_HINT : ofReceived(hint))
    const tracesOf = (origins: readonly number[]): SentTrace[] =>
      origins.flatMap((origin) => this.#traceOf(origin))
    return function* (block, newest, seen) {
      const unseen = longTraces.of(block, newest, fromNs, toNs).filter((trace) => seen.add(trace))
      for (const found of meeting(unseen)) yield tracesOf(found)
    }
  }

  /** The original traces with a span in a range of rows that meets a hint. */
  #originsWith({ sql, values }: SqlHint): (after: number, upTo: number) => number[] {
    const statement = this.db
      .prepare<Bound[], number>(
        `SELECT DISTINCT s.origin FROM spans s WHERE s.id > ? AND s.id <= ? AND ${sql}
           AND EXISTS (SELECT 1 FROM outbox WHERE outbox.trace = 0 AND outbox.span = s.id) ORDER BY s.id DESC`,
      )
      .pluck()
    return (after, upTo) => statement.all(after, upTo, ...values)
  }

  /** The traces in a range of rows, all or those wanted. The spans of most arrive together, and are read as a range. */
  #tracesIn(
    after: number,
    upTo: number,
    seen: NumberSet,
    wanted: ReadonlySet<number> | undefined,
  ): SentTrace[] {
    const { items, changed } = this.#windowOf(after, upTo)
    const found: SentTrace[] = []
    for (const [origin, own] of items) {
      if (wanted?.has(origin) === false || !seen.add(origin)) continue
      const bounds = this.#bounds.get(origin)
      const isHere = bounds !== undefined && bounds.least > after && bounds.most <= upTo
      if (!isHere || changed.has(origin)) found.push(...this.#traceOf(origin))
      else {
        const traceId = this.#originTrace.get(origin)
        if (traceId !== undefined) found.push({ traceId, items: () => [own] })
      }
    }
    return found.reverse()
  }

  /** Where the newest range of rows begins that can be read at a time: all of it, or the newest half, quarter and so on. */
  #startOfWindow(after: number, upTo: number): number {
    let next = after
    while (upTo - next > 1 && (this.#bytesIn.get(next, upTo) ?? 0) > WINDOW_BYTES) next += (upTo - next) >> 1
    return next
  }

  /** The spans of a window by original trace. All their bytes are read together, which is much faster. */
  #windowOf(after: number, upTo: number): Window {
    const window: Window = { items: new Map(), changed: new Set() }
    const [heads, bytes] = this.#bytesOf.get(after, upTo) ?? [null, null]
    if (heads === null || bytes === null) return window
    this.#read.add(bytes.length)
    let at = 0
    for (const head of heads.split(';')) {
      const [id = 0, origin = 0, scope = 0, flags = 0, length = 0] = head.split(',').map(Number)
      const items = window.items.get(origin)
      const item = asItCame(id, scope, bytes.subarray(at, at + length))
      at += length
      if (items === undefined) window.items.set(origin, [item])
      else items.push(item)
      if ((flags & CHANGED) !== 0) window.changed.add(origin)
    }
    return window
  }

  #traceOf(origin: number): SentTrace[] {
    const traceId = this.#originTrace.get(origin)
    if (traceId === undefined) return []
    return [{ traceId, items: () => this.#outbox.itemsOfOrigin(origin, this.#read) }]
  }
}

interface TraceRow {
  readonly id: number
  readonly trace_id: Buffer
  readonly bytes: number
  readonly isIn: number
}

/** The first and last row sent into a trace: received spans by row, Causeway's own by decision. */
interface RowsOfTrace {
  readonly firstSpan: number | null
  readonly lastSpan: number | null
  readonly firstOwn: number | null
  readonly lastOwn: number | null
}

const NO_ROWS: RowsOfTrace = { firstSpan: null, lastSpan: null, firstOwn: null, lastOwn: null }

interface Window {
  readonly items: Map<number, OutboxItem[]>
  /** The traces with spans that were not forwarded unchanged. */
  readonly changed: Set<number>
}

/** The most bytes that are read at a time. */
const WINDOW_BYTES = 8 * MIB
/** The cost of visiting a span, besides its bytes, expressed in bytes. */
const BYTES_BESIDE = 256
/** Flags of decisions that change the bytes of a span. */
const CHANGED = SENT_PATCHED | SENT_INHERITED_CPID

function asItCame(id: number, scope: number, raw: Buffer): OutboxItem {
  return {
    decision: id,
    raw,
    synthetic: false,
    scope,
    traceId: undefined,
    parentId: 0n,
    copy: false,
    inherited: undefined,
    extra: undefined,
  }
}

const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

/** The time range of the spans in each block. Rows of a full block never change; retention may remove them. */
class BlockTimes extends OnConnection {
  readonly #blocks: SpanBlocks
  readonly #rowsABlock: number
  readonly #known = new Map<number, readonly [first: bigint, last: bigint]>()
  readonly #read = this.db
    .prepare<[number, number], { first: bigint | null; last: bigint | null }>(
      'SELECT min(start_ns) AS first, max(end_ns) AS last FROM spans WHERE id > ? AND id <= ?',
    )
    .safeIntegers()

  constructor(db: Sqlite, blocks: SpanBlocks, rowsABlock: number) {
    super(db)
    this.#blocks = blocks
    this.#rowsABlock = rowsABlock
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
    const facts = this.#blocks.known(block)
    if (facts !== undefined) return [facts.firstNs, facts.lastNs]
    const row = this.#read.get(block * this.#rowsABlock, (block + 1) * this.#rowsABlock)
    const times = [row?.first ?? MAX, row?.last ?? MIN] as const
    const isFull = newest > (block + 1) * this.#rowsABlock
    if (isFull && this.#known.size < MOST_BLOCKS) this.#known.set(block, times)
    return times
  }
}

const BITS_A_PART = 65_536

/** A set of numbers with one bit each, in parts that are allocated on demand. */
class NumberSet {
  readonly #parts = new Map<number, Uint8Array>()

  /** Adds a number. True if it was not in the set. */
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
