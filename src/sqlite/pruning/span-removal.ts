import { SPAN_OBSERVED, SPAN_WROTE } from '../../model/arrivals.ts'
import type { PruneHold } from '../../model/ports/prune-port.ts'
import type { Progress } from '../progress.ts'
import { IS_BROUGHT, type SpansSentForChildren } from './spans-sent-for-children.ts'
import type { PruneHolds } from './holds.ts'
import type { ObjectRemoval } from './object-removal.ts'
import type { Statements } from './statements.ts'

/** Of a CPID in one original trace. */
const ITS = 'FROM spans AS s WHERE s.origin = +? AND s.cpid = +?'
/** The decision that sent a span on in its original trace. */
const IN_PLACE =
  '(SELECT decision FROM outbox WHERE trace = 0 AND span = s.id ORDER BY decision DESC LIMIT 1)'

interface Whole {
  spans: number
  newest: number | null
  decision: number | null
  objects: number
  brought: number
}

interface OneSpan {
  id: number
  decision: number | null
  brought: number
}

export interface RemovedSpans {
  spans: number
  /** All rows that went. */
  rows: number
  hold?: PruneHold
}

/** Removes the spans of a CPID, trace by trace. */
export class SpanRemoval {
  readonly #sql: Statements
  readonly #progress: Progress
  readonly #holds: PruneHolds
  readonly #objects: ObjectRemoval
  readonly #brought: SpansSentForChildren

  constructor(
    sql: Statements,
    progress: Progress,
    { holds, objects, brought }: { holds: PruneHolds; objects: ObjectRemoval; brought: SpansSentForChildren },
  ) {
    this.#sql = sql
    this.#progress = progress
    this.#holds = holds
    this.#objects = objects
    this.#brought = brought
  }

  /** At most `most` spans; unforced none from the first on that must stay. */
  remove(cpid: number, origin: number, most: number, forced: boolean): RemovedSpans {
    const [whole] = this.#sql.rows<Whole>(
      `SELECT count(*) AS spans, max(id) AS newest, max(decision) AS decision, total(flags & ?) > 0 AS objects,
         max(brought) AS brought
       FROM (SELECT id, flags, ${IN_PLACE} AS decision, ${IS_BROUGHT} AS brought ${ITS} LIMIT +?)`,
      SPAN_OBSERVED | SPAN_WROTE,
      origin,
      cpid,
      most,
    )
    if (whole === undefined || whole.spans === 0) return { spans: 0, rows: 0 }
    const hold = forced ? undefined : this.#holdOf(whole.newest ?? 0, whole.decision)
    if (whole.spans < most && hold === undefined && whole.objects === 0 && whole.brought === 0) {
      if (whole.decision !== null)
        this.#sql.run(`DELETE FROM outbox WHERE trace = 0 AND span IN (SELECT id ${ITS})`, origin, cpid)
      const spans = this.#sql.run(`DELETE ${ITS}`, origin, cpid)
      return { spans, rows: spans }
    }
    return this.#oneByOne(cpid, origin, most, forced)
  }

  #oneByOne(cpid: number, origin: number, most: number, forced: boolean): RemovedSpans {
    const removed = { spans: 0, rows: 0 }
    const spans = this.#sql.rows<OneSpan>(
      `SELECT id, ${IN_PLACE} AS decision, ${IS_BROUGHT} AS brought ${ITS} LIMIT +?`,
      origin,
      cpid,
      most,
    )
    for (const { id, decision, brought } of spans) {
      const hold = forced ? undefined : (this.#holdOf(id, decision) ?? this.#asBrought(id, brought === 1))
      if (hold !== undefined) return { ...removed, hold }
      if (decision !== null) this.#sql.run('DELETE FROM outbox WHERE trace = 0 AND span = +?', id)
      removed.rows += this.#objects.removeOfSpan(id) + this.#sql.run('DELETE FROM spans WHERE id = +?', id)
      removed.spans++
    }
    return removed
  }

  #asBrought(span: number, isBrought: boolean): PruneHold | undefined {
    return isBrought ? this.#brought.holdOf('+?', [span], this.#holds.sentDecision) : undefined
  }

  #holdOf(newest: number, decision: number | null): PruneHold | undefined {
    if (newest > this.#progress.linkedArrival) return { until: 'arrival', at: newest }
    if (decision !== null && decision > this.#holds.sentDecision) return { until: 'decision', at: decision }
    return undefined
  }
}
