import type { UnixNanos } from '../../model/time-and-size.ts'
import { isDamage, OnConnection, type Sqlite } from './open-database.ts'
import { keptFacts, type KeptRow, type StoredBlocks } from './span-block-facts.ts'

/**
 * A trace is long if one of its spans starts or ends at least this many seconds before or after its first time (`origin_traces.first_ns`):
 * the start of the span that arrived first. In databases of earlier versions, it is the start of any of its spans. All spans of other
 * traces are within twice this time.
 */
export const LONG_S = 300
/** The most full blocks whose long traces are cached until they are stored. */
const MOST_BLOCKS = 4_096

const BILLION = '1000000000'

/** Three numbers for each long trace of a block: its id, and the bounds of its first time and its spans in the block, in Unix seconds. */
type LongTraces = Float64Array

const NUMBERS_A_TRACE = 3

/** How many spans are read before others may take a turn. Each trace counts as some further spans. */
const SPANS_AT_ONCE = 1_000
const SPANS_A_TRACE = 20

export type Bound = string | number | bigint | Buffer

/** A condition in SQL, and the values of its `?` parameters. */
export interface SqlHint {
  readonly sql: string
  readonly values: readonly Bound[]
}

/**
 * Knows which original traces with spans in a block are long. Without it, a search by time would have to read the spans of all other times,
 * since a trace may last for hours.
 */
export class LongTracesOfBlocks extends OnConnection {
  readonly #stored: StoredBlocks
  readonly #remembered = new Map<number, LongTraces>()
  readonly #kept = this.db.prepare<[number, number], KeptRow>(
    'SELECT facts, checksum FROM long_traces WHERE after = ? AND up_to = ?',
  )
  readonly #isAllKnown = this.column<[number, number], number>(
    `SELECT NOT EXISTS (SELECT 1 FROM spans s CROSS JOIN origin_traces o ON o.id = s.origin
       WHERE s.id > ? AND s.id <= ? AND o.first_ns IS NULL)`,
  )
  // Division rounds toward zero, so the bounds are widened by a second.
  readonly #read = this.db
    .prepare<{ after: number; upTo: number }, [trace: number, fromS: number, toS: number]>(
      `SELECT origin, min(low, first) - 1, max(high, first) + 1 FROM (
         SELECT s.origin, min(s.start_ns, s.end_ns) / ${BILLION} AS low, max(s.start_ns, s.end_ns) / ${BILLION} AS high,
           coalesce(o.first_ns, (SELECT start_ns FROM spans WHERE origin = s.origin ORDER BY span_id LIMIT 1)) / ${BILLION} AS first
         FROM (SELECT origin, min(min(start_ns, end_ns)) AS start_ns, max(max(start_ns, end_ns)) AS end_ns
           FROM spans WHERE id > @after AND id <= @upTo GROUP BY origin) s
         CROSS JOIN origin_traces o ON o.id = s.origin)
       WHERE high - first >= ${LONG_S} OR first - low >= ${LONG_S}`,
    )
    .raw()
  readonly #setFirst = this.db.prepare<{ after: number; upTo: number }>(
    `UPDATE origin_traces SET first_ns = (SELECT start_ns FROM spans WHERE origin = origin_traces.id ORDER BY span_id LIMIT 1)
       WHERE first_ns IS NULL AND id IN (SELECT origin FROM spans WHERE id > @after AND id <= @upTo)`,
  )

  constructor(db: Sqlite, stored: StoredBlocks) {
    super(db)
    this.#stored = stored
  }

  /** Computes the long traces of a full block. Yields once, so that others may take a turn. */
  *read(block: number): Generator<undefined, LongTraces> {
    const [after, upTo] = this.#stored.boundsOf(block)
    this.#setFirst.run({ after, upTo })
    const traces = this.#readRows(after, upTo)
    yield
    return traces
  }

  /**
   * The long traces with spans in a block that may have been active in a time range; none if the block is damaged. `newest` is the row of
   * the newest span.
   */
  of(block: number, newest: number, fromNs: UnixNanos | undefined, toNs: UnixNanos | undefined): number[] {
    const traces = this.#unlessDamaged(block, newest)
    const [fromS, toS] = [secondsOf(fromNs, -Infinity), secondsOf(toNs, Infinity)]
    const found: number[] = []
    for (let at = 0; at < traces.length; at += NUMBERS_A_TRACE) {
      const [trace = 0, firstS = 0, lastS = 0] = traces.subarray(at, at + NUMBERS_A_TRACE)
      if (lastS + LONG_S >= fromS && firstS - LONG_S <= toS) found.push(trace)
    }
    return found
  }

  /** Finds the traces in which a forwarded span `s` meets a hint. Yields so that others may take a turn. */
  meeting({ sql, values }: SqlHint): (traces: readonly number[]) => Generator<number[]> {
    const page = this.db
      .prepare<Bound[], [spanId: bigint, id: bigint, meets: bigint]>(
        `SELECT s.span_id, s.id, ${sql} AND EXISTS (SELECT 1 FROM outbox WHERE outbox.trace = 0 AND outbox.span = s.id)
         FROM spans s WHERE s.origin = ? AND (s.span_id, s.id) > (?, ?) ORDER BY s.span_id, s.id LIMIT ${SPANS_AT_ONCE}`,
      )
      .raw()
      .safeIntegers()
    return function* (traces) {
      let [found, looked]: [number[], number] = [[], 0]
      for (const trace of traces) {
        looked += SPANS_A_TRACE
        let [spanId, id, isFound, spans] = [LEAST, LEAST, false, SPANS_AT_ONCE]
        while (!isFound && spans === SPANS_AT_ONCE) {
          spans = 0
          for (const row of page.iterate(...values, trace, spanId, id)) {
            spans++
            ;[spanId, id] = row
            if ((isFound = row[2] === 1n)) break
          }
          looked += spans
          if (isFound) found.push(trace)
          if (looked < SPANS_AT_ONCE) continue
          yield found
          ;[found, looked] = [[], 0]
        }
      }
      yield found
    }
  }

  /** A block that cannot be read does not prevent searches of other times. */
  #unlessDamaged(block: number, newest: number): LongTraces {
    try {
      return this.#of(block, newest)
    } catch (error) {
      if (!isDamage(error)) throw error
      return new Float64Array()
    }
  }

  #of(block: number, newest: number): LongTraces {
    const [after, upTo] = this.#stored.boundsOf(block)
    if (newest <= upTo) return this.#readRows(after, newest)
    const kept = keptFacts(this.#kept.get(after, upTo)) as LongTraces | undefined
    const known = kept ?? this.#remembered.get(block)
    if (known !== undefined) return known
    const traces = this.#readRows(after, upTo)
    // Without a stored first time, the span that stands in for it may change.
    if (this.#isAllKnown.get(after, upTo) === 1) this.#remember(block, traces)
    return traces
  }

  #readRows(after: number, upTo: number): LongTraces {
    return Float64Array.from(this.#read.all({ after, upTo }).flat())
  }

  #remember(block: number, traces: LongTraces): void {
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size < MOST_BLOCKS) break
      this.#remembered.delete(oldest)
    }
    this.#remembered.set(block, traces)
  }
}

/** The least integer of SQLite. */
const LEAST = -(2n ** 63n)

function secondsOf(ns: UnixNanos | undefined, otherwise: number): number {
  return ns === undefined ? otherwise : Number(ns / 1_000_000_000n)
}
