import { SPAN_OBSERVED, SPAN_WROTE } from '../../model/arrivals.ts'
import { SENT_FOR_CHILD } from '../../model/outbox.ts'
import type { PruneCounts, PruneHold, RemovalStep } from '../../model/store-ports.ts'
import type { SqliteMergeGraph } from './merge-graph.ts'
import {
  IS_SENT_FOR_CHILD,
  type ObjectRemoval,
  type PrunedRows,
  type PruneHolds,
  rowsOf,
  type SpansSentForChildren,
} from './pruning-holds.ts'
import type { PreparedStatements } from './prepared-statements.ts'
import type { TraceIndex } from './trace-id-index.ts'

interface Parts {
  readonly sql: PreparedStatements
  readonly holds: PruneHolds
  readonly traces: TraceRemoval
  readonly spans: SpanRemoval
  readonly index: TraceIndex
  readonly rows: PrunedRows
}

/** The progress of removing the contents of one CPID. */
interface Step {
  readonly cpid: number
  readonly forced: boolean
  readonly counts: PruneCounts
  left: number
}

/** Removes the spans, log records and traces of CPIDs, some rows at a time. */
export class CpidContentsRemoval {
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
    const { sql, rows, holds } = this.#parts
    if (step.left <= 0) return undefined
    const logs = sql.rows<{ id: number; bytes: number; decision: number | null }>(
      `SELECT id, length(raw) AS bytes, (SELECT max(decision) FROM log_outbox WHERE log = logs.id) AS decision FROM logs WHERE cpid = +? LIMIT +?`,
      step.cpid,
      step.left,
    )
    for (const { id, bytes, decision } of logs) {
      if (step.left <= 0) return undefined
      if (!step.forced) {
        if (id > holds.reached.arrival) return { until: 'arrival', at: id }
        if (decision !== null) return { until: 'logDecision', at: decision }
      }
      if (decision !== null) sql.run('DELETE FROM log_outbox WHERE log = +?', id)
      if (sql.run('DELETE FROM waiting_logs WHERE arrival = +?', id) > 0) rows.waitingLog()
      sql.run('DELETE FROM logs WHERE id = +?', id)
      step.left -= rowsOf(bytes)
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

/** The spans of a CPID in one original trace. */
const ITS = 'FROM spans AS s WHERE s.origin = +? AND s.cpid = +?'
/** The decision that forwarded a span in its original trace. */
const IN_PLACE =
  '(SELECT decision FROM outbox WHERE trace = 0 AND span = s.id ORDER BY decision DESC LIMIT 1)'

interface Whole {
  spans: number
  bytes: number
  newest: number | null
  decision: number | null
  objects: number
  brought: number
}

interface OneSpan {
  id: number
  bytes: number
  decision: number | null
  brought: number
}

interface RemovedSpans {
  spans: number
  /** How many rows were removed in all. `most` and above mean that there may be more. */
  rows: number
  hold?: PruneHold
}

/** Removes the spans of a CPID, trace by trace. */
export class SpanRemoval {
  readonly #sql: PreparedStatements
  readonly #holds: PruneHolds
  readonly #objects: ObjectRemoval
  readonly #brought: SpansSentForChildren

  constructor(
    sql: PreparedStatements,
    { holds, objects, brought }: { holds: PruneHolds; objects: ObjectRemoval; brought: SpansSentForChildren },
  ) {
    this.#sql = sql
    this.#holds = holds
    this.#objects = objects
    this.#brought = brought
  }

  /** Removes at most about `most` rows. Unless forced, stops at the first span that is held. */
  remove(cpid: number, origin: number, most: number, forced: boolean): RemovedSpans {
    const [whole] = this.#sql.rows<Whole>(
      `SELECT count(*) AS spans, total(bytes) AS bytes, max(id) AS newest, max(decision) AS decision,
         total(flags & ?) > 0 AS objects, max(brought) AS brought
       FROM (SELECT id, flags, length(raw) AS bytes, ${IN_PLACE} AS decision, ${IS_SENT_FOR_CHILD} AS brought ${ITS} LIMIT +?)`,
      SPAN_OBSERVED | SPAN_WROTE,
      origin,
      cpid,
      most,
    )
    if (whole === undefined || whole.spans === 0) return { spans: 0, rows: 0 }
    const hold = forced ? undefined : this.#holdOf(whole.newest ?? 0, whole.decision)
    const rows = whole.spans + rowsOf(whole.bytes) - 1
    if (rows < most && hold === undefined && whole.objects === 0 && whole.brought === 0) {
      if (whole.decision !== null)
        this.#sql.run(`DELETE FROM outbox WHERE trace = 0 AND span IN (SELECT id ${ITS})`, origin, cpid)
      this.#sql.run(`DELETE ${ITS}`, origin, cpid)
      return { spans: whole.spans, rows }
    }
    return this.#oneByOne(cpid, origin, most, forced)
  }

  #oneByOne(cpid: number, origin: number, most: number, forced: boolean): RemovedSpans {
    const removed = { spans: 0, rows: 0 }
    const spans = this.#sql.rows<OneSpan>(
      `SELECT id, length(raw) AS bytes, ${IN_PLACE} AS decision, ${IS_SENT_FOR_CHILD} AS brought ${ITS} LIMIT +?`,
      origin,
      cpid,
      most,
    )
    for (const { id, bytes, decision, brought } of spans) {
      if (removed.rows >= most) return removed
      const hold = forced ? undefined : (this.#holdOf(id, decision) ?? this.#asBrought(id, brought === 1))
      if (hold !== undefined) return { ...removed, hold }
      removed.rows += this.#objects.removeOfSpan(id, most - removed.rows)
      if (removed.rows >= most) return removed
      if (decision !== null) this.#sql.run('DELETE FROM outbox WHERE trace = 0 AND span = +?', id)
      this.#sql.run('DELETE FROM spans WHERE id = +?', id)
      removed.rows += rowsOf(bytes)
      removed.spans++
    }
    return removed
  }

  #asBrought(span: number, isBrought: boolean): PruneHold | undefined {
    return isBrought ? this.#brought.holdOf('+?', [span], this.#holds.sentDecision) : undefined
  }

  #holdOf(newest: number, decision: number | null): PruneHold | undefined {
    if (newest > this.#holds.reached.arrival) return { until: 'arrival', at: newest }
    if (decision !== null && decision > this.#holds.sentDecision) return { until: 'decision', at: decision }
    return undefined
  }
}

interface TraceRow {
  id: number
  root: number
  episode: number
  /** The first trace of the cascade, if this one continues it. */
  continues: number | null
}

interface ChangeRow {
  trace: number
  root: number | null
  episode: number | null
  continues: number | null
}

interface TraceRemovalParts {
  readonly sql: PreparedStatements
  readonly graph: SqliteMergeGraph
  readonly rows: PrunedRows
  readonly holds: PruneHolds
  readonly brought: SpansSentForChildren
}

/** Change spans are removed last, since the next turn finds the rest of a trace by them. */
const TABLES = ['awaited_parents', 'trace_services', 'trace_actors', 'change_spans']

/** Removes traces and their contents, some rows at a time. */
export class TraceRemoval {
  readonly #sql: PreparedStatements
  readonly #graph: SqliteMergeGraph
  readonly #rows: PrunedRows
  readonly #holds: PruneHolds
  readonly #brought: SpansSentForChildren

  constructor({ sql, graph, rows, holds, brought }: TraceRemovalParts) {
    this.#sql = sql
    this.#graph = graph
    this.#rows = rows
    this.#holds = holds
    this.#brought = brought
  }

  /** Removes the traces of a root. Returns how many rows it removed; `most` means that there may be more. */
  removeOfRoot(root: number, most: number, counts: PruneCounts): number {
    let removed = 0
    while (removed < most) {
      const [trace] = this.#sql.rows<TraceRow>(
        'SELECT id, root, episode, continues FROM traces WHERE root = +? LIMIT 1',
        root,
      )
      if (trace === undefined) return removed
      removed += this.#remove(trace, most - removed, counts)
    }
    return most
  }

  /**
   * Removes the rows of a CPID in the traces of other roots. If the root was pruned before, the trace only has CPIDs that still exist, and
   * is removed with the last of them.
   */
  removeOthers(cpid: number, most: number, counts: PruneCounts): number {
    let removed = 0
    while (removed < most) {
      const [change] = this.#sql.rows<ChangeRow>(
        `SELECT c.trace, t.root, t.episode, t.continues FROM change_spans c LEFT JOIN traces t ON t.id = c.trace
         WHERE c.cpid = +? LIMIT 1`,
        cpid,
      )
      if (change === undefined) return removed
      const { trace: id, root, episode, continues } = change
      if (root !== null && episode !== null && this.#isLastIn(id, cpid, root)) {
        removed += this.#remove({ id, root, episode, continues }, most - removed, counts)
      } else removed += this.#sql.run('DELETE FROM change_spans WHERE cpid = +? AND trace = +?', cpid, id)
    }
    return most
  }

  #isLastIn(trace: number, cpid: number, root: number): boolean {
    if (this.#graph.maybeNode(root)?.pruned === false) return false
    const other = 'SELECT 1 FROM change_spans WHERE trace = +? AND cpid NOT IN (+?, +?) LIMIT 1'
    return this.#sql.number(other, trace, cpid, root) === undefined
  }

  #remove(trace: TraceRow, most: number, counts: PruneCounts): number {
    let removed = this.#removeWrites(trace, most)
    if (removed >= most) return most
    removed += this.#removeDecisions(trace.id, most - removed, counts)
    if (removed >= most) return most
    for (const table of TABLES) {
      removed += this.#sql.run(`DELETE FROM ${table} WHERE trace = +? LIMIT +?`, trace.id, most - removed)
      if (removed >= most) return most
    }
    this.#rememberEpisode(trace)
    this.#sql.run('DELETE FROM traces WHERE id = +?', trace.id)
    this.#rows.trace(trace.id, trace.root)
    return removed + 1
  }

  /** Removes decisions, and spans without a CPID that were sent into no other trace for their children. */
  #removeDecisions(trace: number, most: number, counts: PruneCounts): number {
    const { sentDecision } = this.#holds
    let removed = 0
    while (removed < most) {
      const page = this.#sql.rows<{ decision: number; span: number | null; flags: number }>(
        'SELECT decision, span, flags FROM outbox WHERE trace = +? LIMIT +?',
        trace,
        most - removed,
      )
      if (page.length === 0) return removed
      for (const { decision, span, flags } of page) {
        if (removed >= most) return most
        if (span !== null && (flags & SENT_FOR_CHILD) !== 0) {
          const released = this.#brought.release(span, decision, {
            sentDecision,
            most: most - removed,
            counts,
          })
          removed += released.rows
          if (!released.isDone) return most
        }
        removed += this.#sql.run('DELETE FROM outbox WHERE decision = +?', decision)
      }
    }
    return most
  }

  /** The writes of a cascade are stored under its first trace, and removed with its last. */
  #removeWrites({ id, continues }: TraceRow, most: number): number {
    const cascade = continues ?? id
    const others = `SELECT 1 FROM traces WHERE id = +? AND id <> +?
      UNION ALL SELECT 1 FROM traces WHERE continues = +? AND id <> +? LIMIT 1`
    if (this.#sql.number(others, cascade, id, cascade, id) !== undefined) return 0
    let removed = 0
    for (const table of ['trace_writes', 'trace_namespaces', 'cascade_pods', 'pod_series']) {
      if (removed < most)
        removed += this.#sql.run(`DELETE FROM ${table} WHERE trace = +? LIMIT +?`, cascade, most - removed)
    }
    return removed
  }

  /** The next episode of the root must not reuse the id of a trace that was sent. */
  #rememberEpisode({ root, episode }: TraceRow): void {
    const node = this.#graph.maybeNode(root)
    if (node === undefined || node.nextEpisode > episode) return
    node.nextEpisode = episode + 1
    this.#graph.save(node)
  }
}
