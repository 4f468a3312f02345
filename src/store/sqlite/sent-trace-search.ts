import { type OwnSpan, readOwnSpan } from '../../model/otlp/read-stored-span.ts'
import type { Pages, SentTrace, SentTraceRange, SpanHint } from '../../model/queries.ts'
import { type OutboxItem, SENT_INHERITED_CPID, SENT_PATCHED } from '../../model/outbox.ts'
import { MIB, type UnixNanos } from '../../model/time-and-size.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import type { SqliteOutbox } from './outbox.ts'
import type { BytesRead } from './record-queries.ts'

/** How many outgoing traces, and how many received spans, are searched at once; fewer if their spans are large. */
const TRACES_AT_ONCE = 500
const SPANS_AT_ONCE = 4_096
/** Up to this many traces of a window are read one by one. If there are more, the whole range is read. */
const FEW = 200
/** How long the spans of a trace may keep arriving: this much is searched around the requested time. */
const SLACK_NS = 900_000_000_000n
/** The most blocks of spans whose time ranges are cached. */
const MOST_BLOCKS = 100_000

/** SQL functions on the bytes of Causeway's own spans. */
const OWN_KIND = 'own_span_kind'
const OWN_DURATION = 'own_span_duration'

type Bound = string | number | bigint | Buffer

/** A condition in SQL, and the values of its `?` parameters. */
interface SqlHint {
  readonly sql: string
  readonly values: readonly Bound[]
}

const NO_HINT: SqlHint = { sql: '1', values: [] }

/** The condition for a received span `s`. */
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

/** The condition for a span of Causeway's own, `o`, whose bytes are in the outbox. */
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
      // Causeway's own spans have none.
      return { sql: '0', values: [] }
    case 'duration':
      return { sql: `${OWN_DURATION}(o.extra) ${hint.operator} ?`, values: [hint.value] }
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

/** Whether it searches the bytes of spans, not only their columns. */
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
 * Finds sent traces, newest first: those of cascades, and those of forwarded spans. A hint allows skipping traces without reading their
 * spans.
 */
export class SentTraceSearch extends OnConnection {
  readonly #outbox: SqliteOutbox
  readonly #read: BytesRead
  readonly #times: BlockTimes
  readonly #sizesBefore = this.db.prepare<[number], { id: number; bytes: number }>(
    `SELECT id, sent_bytes + guest_bytes + ${BYTES_BESIDE} * (sent_spans + guest_spans) AS bytes
       FROM traces WHERE id < ? ORDER BY id DESC LIMIT ${TRACES_AT_ONCE}`,
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
  // Bytes are joined as text, which SQLite accepts unchanged.
  readonly #bytesOf = this.db
    .prepare<[number, number], [heads: string | null, bytes: Buffer | null]>(
      `SELECT group_concat(head, ';'), CAST(group_concat(CAST(raw AS TEXT), '') AS BLOB) FROM (
           SELECT s.id || ',' || s.origin || ',' || s.scope || ',' || o.flags || ',' || length(s.raw) AS head, s.raw AS raw
           FROM spans s CROSS JOIN outbox o ON o.trace = 0 AND o.span = s.id
           WHERE s.id > ? AND s.id <= ? ORDER BY s.id)`,
    )
    .raw()

  constructor(db: Sqlite, outbox: SqliteOutbox, read: BytesRead) {
    super(db)
    this.#outbox = outbox
    this.#read = read
    this.#times = new BlockTimes(db)
    const ofOwnSpan = (name: string, read: (span: OwnSpan) => number | bigint): void => {
      db.function(name, { deterministic: true }, (bytes: unknown) =>
        Buffer.isBuffer(bytes) ? read(readOwnSpan(bytes)) : null,
      )
    }
    ofOwnSpan(OWN_KIND, ({ kind }) => kind)
    ofOwnSpan(OWN_DURATION, ({ startNs, endNs }) => endNs - startNs)
  }

  /** The traces of cascades. */
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
    const window = this.db.prepare<Bound[], { id: number; trace_id: Buffer }>(
      `SELECT id, trace_id FROM traces WHERE id >= ? AND id < ? AND sent_to_ns >= ? AND sent_from_ns <= ? AND ${hinted}
       ORDER BY id DESC`,
    )
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const oldest = this.#oldestOfWindow(before)
      if (oldest === undefined) return
      const rows = window.all(oldest, before, fromNs ?? MIN, toNs ?? MAX, ...own.values, ...received.values)
      yield rows.map(({ id, trace_id }) => ({
        traceId: trace_id,
        items: () => this.#outbox.itemsOfTrace(id, this.#read),
      }))
      before = oldest
    }
  }

  /** The oldest of the traces before this one that are searched at once. */
  #oldestOfWindow(before: number): number | undefined {
    let [oldest, bytes]: [number | undefined, number] = [undefined, 0]
    for (const trace of this.#sizesBefore.iterate(before)) {
      bytes += trace.bytes
      if (oldest !== undefined && bytes > WINDOW_BYTES) break
      oldest = trace.id
    }
    return oldest
  }

  /** The original traces of forwarded spans. */
  *forwarded(range: SentTraceRange, hint: SpanHint | undefined): Pages<SentTrace> & Generator<SentTrace[]> {
    const origins = hint === undefined ? undefined : this.#originsWith(ofReceived(hint))
    const seen = new NumberSet()
    const newest = this.#newestSpan.get() ?? 0
    for (let upTo = newest; upTo > 0;) {
      const block = Math.ceil(upTo / SPANS_AT_ONCE) - 1
      const after = block * SPANS_AT_ONCE
      let found: SentTrace[] = []
      let next = after
      if (this.#times.mayReach(block, newest, range.fromNs, range.toNs)) {
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
      upTo = next
    }
  }

  /** The original traces with at least one span in a range that matches a hint. */
  #originsWith({ sql, values }: SqlHint): (after: number, upTo: number) => number[] {
    const statement = this.db
      .prepare<Bound[], number>(
        `SELECT DISTINCT s.origin FROM spans s WHERE s.id > ? AND s.id <= ? AND ${sql}
           AND EXISTS (SELECT 1 FROM outbox WHERE outbox.trace = 0 AND outbox.span = s.id) ORDER BY s.id DESC`,
      )
      .pluck()
    return (after, upTo) => statement.all(after, upTo, ...values)
  }

  /** Many traces, or all. The spans of most arrive together, and are read as a range. */
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

  /** Where the newest range of spans begins that can be searched at once: all of them, or half of them, and so on. */
  #startOfWindow(after: number, upTo: number): number {
    let next = after
    while (upTo - next > 1 && (this.#bytesIn.get(next, upTo) ?? 0) > WINDOW_BYTES) next += (upTo - next) >> 1
    return next
  }

  /** The spans of a window, by original trace. Reading all their bytes at once is much faster. */
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

interface Window {
  readonly items: Map<number, OutboxItem[]>
  /** The traces with spans that were not forwarded unchanged. */
  readonly changed: Set<number>
}

/** The most bytes read at a time. */
const WINDOW_BYTES = 8 * MIB
/** The cost of visiting a span besides its bytes, in bytes. */
const BYTES_BESIDE = 256
/** The flags of a decision that changes the bytes of a span. */
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

/** The time range of the spans in each block. The rows of a full block never change; they are only removed by retention. */
class BlockTimes extends OnConnection {
  readonly #known = new Map<number, readonly [first: bigint, last: bigint]>()
  readonly #read = this.db
    .prepare<[number, number], { first: bigint | null; last: bigint | null }>(
      'SELECT min(start_ns) AS first, max(end_ns) AS last FROM spans WHERE id > ? AND id <= ?',
    )
    .safeIntegers()

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

/** A set of numbers: one bit each, in parts that are allocated on demand. */
class NumberSet {
  readonly #parts = new Map<number, Uint8Array>()

  /** True if it was not in the set. */
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
