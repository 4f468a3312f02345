import { SENT_FOR_CHILD } from '../../model/ports/linking/decisions.ts'
import type { PruneHold, PruneCounts } from '../../model/ports/prune-port.ts'
import type { TraceIndex } from '../writer/trace-index.ts'
import type { ObjectRemoval } from './object-removal.ts'
import type { PrunedRows } from './pruned-rows.ts'
import type { Statements } from './statements.ts'

interface Parts {
  readonly sql: Statements
  readonly objects: ObjectRemoval
  readonly index: TraceIndex
  readonly rows: PrunedRows
}

/** A trace that a span was brought into, as far as it holds the span. */
interface Into {
  state: number
  due_ms: number
  decision: number
}

/** True of a span `s` that a child of it brought into a trace. */
export const IS_BROUGHT = `EXISTS (SELECT 1 FROM outbox b WHERE b.span = s.id AND b.flags & ${SENT_FOR_CHILD})`

/**
 * What holds a span in traces that a child of it brought it into: a decision that not every exporter has sent, or a
 * trace that is open. Such a span stands in traces of CPIDs that are not its own.
 */
const HOLDING = `SELECT t.state, t.due_ms, b.decision FROM outbox b CROSS JOIN traces t ON t.id = b.trace
  WHERE b.flags & ${SENT_FOR_CHILD} AND (t.state = 0 OR b.decision > +?)`

/** Spans that children of theirs brought into their own traces. */
export class SpansSentForChildren {
  readonly #parts: Parts
  /** Tells of a span without a CPID that stands in no trace any more and cannot go yet. */
  #left: (span: number) => void = () => undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  onLeft(left: (span: number) => void): void {
    this.#left = left
  }

  /** What holds one of the spans that `spans`, a query of their ids, finds. */
  holdOf(spans: string, values: readonly unknown[], sentDecision: number): PruneHold | undefined {
    const { sql } = this.#parts
    if (sql.number(`SELECT 1 FROM outbox WHERE flags & ${SENT_FOR_CHILD} LIMIT 1`) === undefined)
      return undefined
    const [into] = sql.rows<Into>(`${HOLDING} AND b.span IN (${spans}) LIMIT 1`, sentDecision, ...values)
    if (into === undefined) return undefined
    return into.state === 0
      ? { until: 'activeMs', at: into.due_ms }
      : { until: 'decision', at: into.decision }
  }

  /** A trace that these spans were brought into is gone; with the last one goes what has no CPID. */
  release(spans: Iterable<number>, sentDecision: number, counts: PruneCounts): number {
    let removed = 0
    for (const span of spans) removed += this.#release(span, sentDecision, counts)
    return removed
  }

  /** Removes a span without a CPID and what belongs to it; returns how many rows went. */
  remove(span: number, origin: number): number {
    const { sql, objects, index, rows } = this.#parts
    const removed =
      sql.run('DELETE FROM outbox WHERE trace = 0 AND span = +?', span) + objects.removeOfSpan(span)
    sql.run('DELETE FROM spans WHERE id = +?', span)
    index.removeIfEmpty(origin)
    rows.origin(origin)
    return removed + 1
  }

  #release(span: number, sentDecision: number, counts: PruneCounts): number {
    const [found] = this.#parts.sql.rows<{ origin: number; unsent: number; brought: number }>(
      `SELECT s.origin, ${IS_BROUGHT} AS brought,
         EXISTS (SELECT 1 FROM outbox o WHERE o.trace = 0 AND o.span = s.id AND o.decision > +?) AS unsent
       FROM spans s WHERE s.id = +? AND s.cpid IS NULL`,
      sentDecision,
      span,
    )
    if (found === undefined || found.brought === 1) return 0
    if (found.unsent === 1) {
      this.#left(span)
      return 0
    }
    counts.spans++
    return this.remove(span, found.origin)
  }
}
