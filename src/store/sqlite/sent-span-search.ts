import type { Pages, SentSpan, SentTraceRange } from '../../model/queries.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import type { BytesRead } from './record-queries.ts'
import { eachRow } from './span-block-facts.ts'
import type { BlockTest, SpanBlocks } from './span-blocks.ts'

/** How many traces are read at once from their table. */
const TRACES_A_STEP = 500
/** For how many traces a block of spans is read once. */
const TRACES_TOGETHER = 20_000
/** The number under which spans are kept that were forwarded in their original traces. */
const FORWARDED = 0

/** The first and the last of what was sent into a trace: received spans by number, Causeway's own by decision. */
export interface RowsOfTrace {
  readonly firstSpan: number | null
  readonly lastSpan: number | null
  readonly firstOwn: number | null
  readonly lastOwn: number | null
}

export const ROWS_OF_TRACE = `SELECT (SELECT min(span) FROM outbox WHERE trace = @trace) AS firstSpan,
  (SELECT max(span) FROM outbox WHERE trace = @trace) AS lastSpan,
  (SELECT min(decision) FROM outbox WHERE trace = @trace AND span IS NULL) AS firstOwn,
  (SELECT max(decision) FROM outbox WHERE trace = @trace AND span IS NULL) AS lastOwn`

/** A trace, and between which rows its spans are. */
interface RowsBetween {
  readonly trace: number
  readonly first: number
  readonly last: number
}

/** The traces into which each row of a block was sent. */
type TracesOfRows = ReadonlyMap<number, number | readonly number[]>

/** Reads spans that were sent in the order in which they are stored, block by block: much faster than trace by trace. */
export class SentSpanSearch extends OnConnection {
  readonly #received: SpanBlocks
  readonly #own: SpanBlocks
  readonly #read: BytesRead
  readonly #traces = this.db.prepare<[bigint, bigint, number], { id: number; isIn: number }>(
    `SELECT id, sent_to_ns >= ? AND sent_from_ns <= ? AS isIn FROM traces WHERE id < ?
       ORDER BY id DESC LIMIT ${TRACES_A_STEP}`,
  )
  readonly #rowsOf = this.db.prepare<[{ trace: number }], RowsOfTrace>(ROWS_OF_TRACE)
  readonly #spansOf = this.db
    .prepare<[number, number, number], string | null>(
      'SELECT group_concat(span) FROM outbox WHERE trace = ? AND span > ? AND span <= ?',
    )
    .pluck()
  readonly #ownOf = this.db
    .prepare<[number, number], string | null>(
      "SELECT group_concat(decision || ',' || trace) FROM outbox WHERE decision > ? AND decision <= ? AND span IS NULL",
    )
    .pluck()

  constructor(db: Sqlite, received: SpanBlocks, own: SpanBlocks, read: BytesRead) {
    super(db)
    this.#received = received
    this.#own = own
    this.#read = read
  }

  /** Blocks in which no span meets the test are passed over, and so are those without a span in the range. */
  *spans(
    range: Required<SentTraceRange>,
    test: BlockTest | undefined,
  ): Pages<SentSpan> & Generator<SentSpan[]> {
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const [received, own]: [RowsBetween[], RowsBetween[]] = [[], []]
      let next = before
      for (let at = 0; at < TRACES_TOGETHER; at += TRACES_A_STEP) {
        for (const { id, isIn } of this.#traces.all(range.fromNs, range.toNs, next)) {
          next = id
          if (isIn === 1) this.#addRows(id, received, own)
        }
        yield []
      }
      yield* this.#inBlocks(received, (block, traces) => this.#receivedOf(block, traces), { range, test })
      yield* this.#inBlocks(own, (block) => this.#ownIn(block, next, before), { range, test }, this.#own)
      if (next === before) break
      before = next
    }
    const all = [{ trace: FORWARDED, first: 1, last: this.#received.stored.newest }]
    yield* this.#inBlocks(all, (block, traces) => this.#receivedOf(block, traces), { range, test })
  }

  #addRows(trace: number, received: RowsBetween[], own: RowsBetween[]): void {
    const { firstSpan, lastSpan, firstOwn, lastOwn } = this.#rowsOf.get({ trace }) ?? {}
    if (firstSpan != null && lastSpan != null) received.push({ trace, first: firstSpan, last: lastSpan })
    if (firstOwn != null && lastOwn != null) own.push({ trace, first: firstOwn, last: lastOwn })
  }

  *#inBlocks(
    all: readonly RowsBetween[],
    tracesOf: (block: number, among: readonly RowsBetween[]) => TracesOfRows,
    { range, test }: { range: Required<SentTraceRange>; test: BlockTest | undefined },
    blocks = this.#received,
  ): Generator<SentSpan[]> {
    for (const [block, among] of blocksOf(all, (row) => blocks.stored.blockOf(row))) {
      yield []
      const facts = blocks.known(block)
      if (facts !== undefined) {
        if (facts.lastNs < range.fromNs || facts.firstNs > range.toNs) continue
        if (test?.(facts) === false) continue
      }
      const traces = tracesOf(block, among)
      if (traces.size === 0) continue
      for (const rows of blocks.stored.joined(block, facts?.bytes)) {
        const { bytes } = rows
        if (bytes === null) continue
        this.#read.add(bytes.length)
        const found: SentSpan[] = []
        eachRow(rows, (row, scope, start, end) => {
          const sent = traces.get(row)
          if (typeof sent === 'number') found.push({ bytes, start, end, scope, trace: sent })
          else for (const trace of sent ?? []) found.push({ bytes, start, end, scope, trace })
        })
        yield found
      }
    }
  }

  #receivedOf(block: number, among: readonly RowsBetween[]): TracesOfRows {
    const traces = new Map<number, number | number[]>()
    for (const { trace } of among) {
      const rows = this.#spansOf.get(trace, ...this.#received.stored.boundsOf(block)) ?? ''
      for (const row of numbersIn(rows)) {
        const before = traces.get(row)
        if (before === undefined) traces.set(row, trace)
        else traces.set(row, typeof before === 'number' ? [before, trace] : [...before, trace])
      }
    }
    return traces
  }

  /** Those of the traces from one number up to before another. */
  #ownIn(block: number, from: number, before: number): TracesOfRows {
    const traces = new Map<number, number>()
    const numbers = numbersIn(this.#ownOf.get(...this.#own.stored.boundsOf(block)) ?? '')
    for (let at = 0; at < numbers.length; at += 2) {
      const [row = 0, trace = 0] = [numbers[at], numbers[at + 1]]
      if (trace >= from && trace < before && trace !== FORWARDED) traces.set(row, trace)
    }
    return traces
  }
}

const numbersIn = (list: string): number[] => (list === '' ? [] : list.split(',').map(Number))

/** The blocks that have rows between the first and the last one of a trace, the newest first, each with such traces. */
function* blocksOf(
  all: readonly RowsBetween[],
  blockOf: (row: number) => number,
): Generator<[block: number, among: readonly RowsBetween[]]> {
  const waiting = all.toSorted((a, b) => a.last - b.last)
  let among: RowsBetween[] = []
  for (let block = Infinity; ; block--) {
    among = among.filter(({ first }) => blockOf(first) <= block)
    const newest = waiting.at(-1)
    if (among.length === 0) {
      if (newest === undefined) return
      block = blockOf(newest.last)
    }
    for (let next = newest; next !== undefined && blockOf(next.last) >= block; next = waiting.at(-1)) {
      among.push(next)
      waiting.pop()
    }
    yield [block, among]
  }
}
