import type { Pages, SentSpan, SentTraceRange } from '../../model/queries.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import type { BytesRead } from './record-queries.ts'
import { eachRow } from './span-block-facts.ts'
import type { BlockTest, SpanBlocks } from './span-blocks.ts'

/** How many traces are read at a time. */
const TRACES_A_STEP = 500
/** How many blocks' worth of a trace's rows are looked up at a time. */
const BLOCKS_A_STEP = 2
/** Rows are collected until there are this many blocks' worth of them; then each of their blocks is read once. */
const BLOCKS_TOGETHER = 64
/** The trace id in `outbox` of spans that were forwarded in their original traces. */
const FORWARDED = 0

/** Selects blocks: those that overlap a time range, and may contain a span that meets a test. */
interface Wanted {
  readonly range: Required<SentTraceRange>
  readonly test: BlockTest | undefined
}

interface RowsOfTrace {
  get(trace: number, after: number, limit: number): string | null | undefined
}

/** The traces into which each row of a block was sent. */
type TracesOfRows = Map<number, number | readonly number[]>

/** Reads sent spans in the order in which they are stored, block by block, which is much faster than trace by trace. */
export class SentSpanSearch extends OnConnection {
  readonly #received: SpanBlocks
  readonly #own: SpanBlocks
  readonly #read: BytesRead
  readonly #traces = this.db.prepare<[bigint, bigint, number], { id: number; isIn: number }>(
    `SELECT id, sent_to_ns >= ? AND sent_from_ns <= ? AS isIn FROM traces WHERE id < ?
       ORDER BY id DESC LIMIT ${TRACES_A_STEP}`,
  )
  readonly #receivedOf = this.column<[trace: number, after: number, limit: number], string | null>(
    `SELECT group_concat(span) FROM (
       SELECT span FROM outbox WHERE trace = ? AND span > ? ORDER BY span LIMIT ?)`,
  )
  readonly #ownOf = this.column<[trace: number, after: number, limit: number], string | null>(
    `SELECT group_concat(decision) FROM (
       SELECT decision FROM outbox WHERE trace = ? AND span IS NULL AND decision > ? ORDER BY decision LIMIT ?)`,
  )
  readonly #forwardedIn = this.column<[number, number], string | null>(
    `SELECT group_concat(span) FROM outbox WHERE trace = ${FORWARDED} AND span > ? AND span <= ?`,
  )

  constructor(db: Sqlite, received: SpanBlocks, own: SpanBlocks, read: BytesRead) {
    super(db)
    this.#received = received
    this.#own = own
    this.#read = read
  }

  /** The spans of cascades, then those that were forwarded; the newest blocks first. Yields an empty page when others may take a turn. */
  *spans(wanted: Wanted): Pages<SentSpan> & Generator<SentSpan[]> {
    yield* this.#ofTraces(this.#received, this.#receivedOf, wanted)
    yield* this.#ofTraces(this.#own, this.#ownOf, wanted)
    const { stored } = this.#received
    for (let block = stored.blockOf(stored.newest); block >= 0; block--) {
      yield []
      if (!mayHold(this.#received, block, wanted)) continue
      const rows = numbersIn(this.#forwardedIn.get(...stored.boundsOf(block)) ?? '')
      yield* this.#inBlock(this.#received, block, new Map(rows.map((row) => [row, FORWARDED])))
    }
  }

  *#ofTraces(blocks: SpanBlocks, rowsOf: RowsOfTrace, wanted: Wanted): Generator<SentSpan[]> {
    const { stored } = blocks
    const rowsAStep = stored.rowsABlock * BLOCKS_A_STEP
    let [found, count] = [new Map<number, TracesOfRows>(), 0]
    for (const trace of this.#tracesIn(wanted.range)) {
      if (trace === undefined) {
        yield []
        continue
      }
      for (let after: number | undefined = 0; after !== undefined;) {
        const rows: number[] = numbersIn(rowsOf.get(trace, after, rowsAStep) ?? '')
        for (const row of rows) addTrace(found, stored.blockOf(row), row, trace)
        count += rows.length
        after = rows.length < rowsAStep ? undefined : rows.at(-1)
        yield []
        if (count < stored.rowsABlock * BLOCKS_TOGETHER) continue
        yield* this.#inBlocks(blocks, found, wanted)
        ;[found, count] = [new Map<number, TracesOfRows>(), 0]
      }
    }
    yield* this.#inBlocks(blocks, found, wanted)
  }

  /** The traces in a time range, newest first; undefined when others may take a turn. */
  *#tracesIn({ fromNs, toNs }: Required<SentTraceRange>): Generator<number | undefined> {
    for (let before = Number.MAX_SAFE_INTEGER; ;) {
      const traces = this.#traces.all(fromNs, toNs, before)
      for (const { id, isIn } of traces) {
        before = id
        if (isIn === 1) yield id
      }
      if (traces.length === 0) return
      yield undefined
    }
  }

  /** The spans in these blocks, the newest blocks first. */
  *#inBlocks(
    blocks: SpanBlocks,
    found: ReadonlyMap<number, TracesOfRows>,
    wanted: Wanted,
  ): Generator<SentSpan[]> {
    for (const [block, traces] of [...found].sort(([a], [b]) => b - a)) {
      yield []
      if (mayHold(blocks, block, wanted)) yield* this.#inBlock(blocks, block, traces)
    }
  }

  *#inBlock(blocks: SpanBlocks, block: number, traces: TracesOfRows): Generator<SentSpan[]> {
    if (traces.size === 0) return
    for (const rows of blocks.stored.joined(block, blocks.known(block)?.bytes)) {
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

function mayHold(blocks: SpanBlocks, block: number, { range, test }: Wanted): boolean {
  const facts = blocks.known(block)
  if (facts === undefined) return true
  return facts.lastNs >= range.fromNs && facts.firstNs <= range.toNs && test?.(facts) !== false
}

function addTrace(found: Map<number, TracesOfRows>, block: number, row: number, trace: number): void {
  const traces = found.get(block) ?? new Map<number, number | readonly number[]>()
  const before = traces.get(row)
  if (before === undefined) traces.set(row, trace)
  else traces.set(row, typeof before === 'number' ? [before, trace] : [...before, trace])
  found.set(block, traces)
}

const numbersIn = (list: string): number[] => (list === '' ? [] : list.split(',').map(Number))
