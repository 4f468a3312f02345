import type { PruneHold, PruneCounts, RemovalStep } from '../../model/ports/prune-port.ts'
import type { Progress } from '../progress.ts'
import type { TraceIndex } from '../writer/trace-index.ts'
import type { PrunedRows } from './pruned-rows.ts'
import type { SpanRemoval } from './span-removal.ts'
import type { Statements } from './statements.ts'
import type { TraceRemoval } from './trace-removal.ts'

interface Parts {
  readonly sql: Statements
  readonly progress: Progress
  readonly traces: TraceRemoval
  readonly spans: SpanRemoval
  readonly index: TraceIndex
  readonly rows: PrunedRows
}

/** How the removal of one CPID's belongings goes. */
interface Step {
  readonly cpid: number
  readonly forced: boolean
  readonly counts: PruneCounts
  left: number
}

/** Removes the spans, logs and traces of CPIDs, some rows at a time. */
export class ContentsOfPrunedCpids {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  removeSome(cpid: number, limit: number, forced: boolean, counts: PruneCounts): RemovalStep {
    const step: Step = { cpid, forced, counts, left: limit }
    const hold = this.#removeSpans(step) ?? this.#removeLogs(step)
    if (hold === undefined) this.#removeRest(step)
    const rows = limit - step.left
    return { rows, outcome: hold ?? (step.left > 0 ? 'gone' : 'more') }
  }

  #removeSpans(step: Step): PruneHold | undefined {
    const { sql, spans, index, rows } = this.#parts
    while (step.left > 0) {
      const origin = sql.number('SELECT origin FROM cpid_origins WHERE cpid = +? LIMIT 1', step.cpid)
      if (origin === undefined) return undefined
      const removed = spans.remove(step.cpid, origin, step.left, step.forced)
      step.counts.spans += removed.spans
      step.left -= removed.rows
      if (removed.hold !== undefined || step.left <= 0) return removed.hold
      sql.run('DELETE FROM cpid_origins WHERE cpid = +? AND origin = +?', step.cpid, origin)
      index.removeIfEmpty(origin)
      rows.origin(origin)
      step.left--
    }
    return undefined
  }

  #removeLogs(step: Step): PruneHold | undefined {
    const { sql, rows, progress } = this.#parts
    if (step.left <= 0) return undefined
    const logs = sql.rows<{ id: number; decision: number | null }>(
      `SELECT id, (SELECT max(decision) FROM log_outbox WHERE log = logs.id) AS decision FROM logs WHERE cpid = +? LIMIT +?`,
      step.cpid,
      step.left,
    )
    for (const { id, decision } of logs) {
      if (!step.forced) {
        if (id > progress.linkedArrival) return { until: 'arrival', at: id }
        if (decision !== null) return { until: 'logDecision', at: decision }
      }
      if (decision !== null) sql.run('DELETE FROM log_outbox WHERE log = +?', id)
      if (sql.run('DELETE FROM waiting_logs WHERE arrival = +?', id) > 0) rows.waitingLog()
      sql.run('DELETE FROM logs WHERE id = +?', id)
      step.left--
      step.counts.logs++
    }
    return undefined
  }

  #removeRest(step: Step): void {
    const { sql, traces } = this.#parts
    const { cpid } = step
    if (step.left > 0) step.left -= traces.removeOfRoot(cpid, step.left, step.counts)
    if (step.left > 0) step.left -= traces.removeOthers(cpid, step.left, step.counts)
    if (step.left > 0) step.left -= sql.run('DELETE FROM waiting WHERE cpid = +? LIMIT +?', cpid, step.left)
  }
}
