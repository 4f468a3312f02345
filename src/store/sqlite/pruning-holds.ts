import { SENT_FOR_CHILD } from '../../model/outbox.ts'
import type { ProcessedUpTo, PruneCounts, PruneHold } from '../../model/store-ports.ts'
import type { PreparedStatements } from './prepared-statements.ts'
import type { TraceIndex } from './trace-id-index.ts'
import { CHANGED } from './archives.ts'
import type { Progress } from './transactions.ts'

/** The hold of something whose end is unknown: check again in the next round. */
const NEXT_ROUND: PruneHold = { until: 'activeMs', at: 0 }

/**
 * The spans of original traces with work of a CPID, newest trace first, up to a limit. A CPID with more is checked span by span when it is
 * removed.
 */
const ITS_SPANS = `SELECT s.id AS id, s.cpid AS cpid
  FROM (SELECT origin FROM cpid_origins WHERE cpid = +? ORDER BY origin DESC LIMIT 200) c
  CROSS JOIN spans s ON s.origin = c.origin LIMIT 2000`
/** The position of the slowest exporter, moved up to its next stored decision: decisions in between were removed by force. */
const sentUpTo = (positions: string, outbox: string): string =>
  `SELECT min(decision) - 1 FROM ${outbox} WHERE decision > (SELECT min(position) FROM (${positions}))`
const OF_SPANS = 'SELECT position FROM exporters UNION ALL SELECT decision FROM archives'
const OF_LOGS = 'SELECT position FROM log_exporters'

/** What holds CPIDs, and when they were last active. */
export class PruneHolds {
  readonly #sql: PreparedStatements
  readonly #progress: Progress
  readonly #brought: SpansSentForChildren
  #reached: ProcessedUpTo | undefined

  constructor(sql: PreparedStatements, progress: Progress, brought: SpansSentForChildren) {
    this.#sql = sql
    this.#progress = progress
    this.#brought = brought
  }

  /** Starts a transaction: cached positions are read again. */
  begin(): void {
    this.#reached = undefined
  }

  get reached(): ProcessedUpTo {
    const { linkedArrival, activeMs, wallMs } = this.#progress
    this.#reached ??= {
      decision: this.#sql.number(sentUpTo(OF_SPANS, 'outbox')) ?? Infinity,
      logDecision: this.#sql.number(sentUpTo(OF_LOGS, 'log_outbox')) ?? Infinity,
      arrival: Math.min(linkedArrival, this.#sql.number('SELECT min(arrival) FROM archives') ?? Infinity),
      activeMs,
      wallMs,
    }
    return this.#reached
  }

  /** The last decision about spans that every exporter has sent. */
  get sentDecision(): number {
    return Math.min(this.reached.decision, this.#progress.lastDecision)
  }

  hold(cpid: number): PruneHold | undefined {
    return (
      this.#byTrace(cpid) ??
      this.#byWaiting(cpid) ??
      this.#byArrival(cpid) ??
      this.#byArchive(cpid) ??
      this.#inPlace(cpid) ??
      this.#asBrought(cpid)
    )
  }

  /** A trace with the CPID, as its root or not: the root may have been pruned before. */
  #byTrace(cpid: number): PruneHold | undefined {
    const isHeld = '(state = 0 OR last_decision > +?) LIMIT 1'
    const found =
      this.#traces(`traces WHERE root = +? AND ${isHeld}`, cpid)[0] ??
      this.#traces(
        `change_spans c CROSS JOIN traces t ON t.id = c.trace WHERE c.cpid = +? AND ${isHeld}`,
        cpid,
      )[0]
    if (found === undefined) return undefined
    return found.state === 0
      ? { until: 'activeMs', at: found.due_ms }
      : { until: 'decision', at: found.last_decision }
  }

  #traces(rest: string, cpid: number): { state: number; due_ms: number; last_decision: number }[] {
    return this.#sql.rows(`SELECT state, due_ms, last_decision FROM ${rest}`, cpid, this.sentDecision)
  }

  #byWaiting(cpid: number): PruneHold | undefined {
    const waits =
      this.#sql.number('SELECT 1 FROM waiting WHERE cpid = +? LIMIT 1', cpid) ??
      this.#sql.number('SELECT 1 FROM waiting_logs WHERE cpid = +? LIMIT 1', cpid)
    if (waits !== undefined) return NEXT_ROUND
    const log = this.#sql.number(
      `SELECT o.decision FROM logs l CROSS JOIN log_outbox o ON o.log = l.id
       WHERE l.cpid = +? AND l.id >= (SELECT min(log) FROM log_outbox) LIMIT 1`,
      cpid,
    )
    return log === undefined ? undefined : { until: 'logDecision', at: log }
  }

  /** A change that is not in every archive yet. */
  #byArchive(cpid: number): PruneHold | undefined {
    const changed = this.#sql.number(
      `SELECT 1 FROM archive_changes WHERE kind = ${CHANGED.cpid} AND item = +?
       UNION ALL SELECT 1 FROM traces t CROSS JOIN archive_changes a ON a.kind = ${CHANGED.trace} AND a.item = t.id
         WHERE t.root = +?
       UNION ALL SELECT 1 FROM change_spans h CROSS JOIN archive_changes a
         ON a.kind IN (${CHANGED.trace}, ${CHANGED.changeSpan}) AND a.item = h.trace WHERE h.cpid = +? LIMIT 1`,
      cpid,
      cpid,
      cpid,
    )
    return changed === undefined ? undefined : NEXT_ROUND
  }

  /** An arrival that is not linked, or not in every archive. */
  #byArrival(cpid: number): PruneHold | undefined {
    const { lastArrival } = this.#progress
    const { arrival } = this.reached
    if (arrival >= lastArrival) return undefined
    const newest = Math.max(
      this.#sql.number('SELECT arrival FROM mergelogs WHERE cpid = +?', cpid) ?? 0,
      this.#sql.number('SELECT max(id) FROM logs WHERE cpid = +?', cpid) ?? 0,
      this.#newestSpan(cpid),
    )
    return newest > arrival ? { until: 'arrival', at: newest } : undefined
  }

  /** A span that was forwarded in its original trace, and so is in no trace of Causeway. */
  #inPlace(cpid: number): PruneHold | undefined {
    if (this.sentDecision >= this.#progress.lastDecision) return undefined
    const decision = this.#sql.number(
      `SELECT max(o.decision) FROM (${ITS_SPANS}) i CROSS JOIN outbox o ON o.trace = 0 AND o.span = i.id`,
      cpid,
    )
    return decision !== undefined && decision > this.sentDecision
      ? { until: 'decision', at: decision }
      : undefined
  }

  /** A span that was sent into traces of other CPIDs for its children. */
  #asBrought(cpid: number): PruneHold | undefined {
    return this.#brought.holdOf(
      `SELECT id FROM (${ITS_SPANS}) WHERE cpid = +?`,
      [cpid, cpid],
      this.sentDecision,
    )
  }

  lastActivityMs(cpid: number): number {
    const inTraces = this.#sql.number(
      `SELECT max(coalesce((SELECT max(last_wall_ms) FROM traces WHERE root = +?), 0),
         coalesce((SELECT max(t.last_wall_ms) FROM change_spans c CROSS JOIN traces t ON t.id = c.trace
           WHERE c.cpid = +?), 0),
         (SELECT prune_ns / 1000000 FROM cpids WHERE id = +?))`,
      cpid,
      cpid,
      cpid,
    )
    return Math.max(inTraces ?? 0, this.#lastInPlaceMs(cpid))
  }

  /** When the newest span arrived, if it was forwarded in its original trace; up to one pruning interval too late. */
  #lastInPlaceMs(cpid: number): number {
    const newest = this.#sql.number(`SELECT max(id) FROM (${ITS_SPANS}) WHERE cpid = +?`, cpid, cpid)
    if (newest === undefined) return 0
    const isInPlace = this.#sql.number('SELECT 1 FROM outbox WHERE trace = 0 AND span = +? LIMIT 1', newest)
    if (isInPlace === undefined) return 0
    return (
      this.#sql.number(
        'SELECT wall_ms FROM arrival_marks WHERE arrival >= +? ORDER BY wall_ms LIMIT 1',
        newest,
      ) ?? this.#progress.wallMs
    )
  }

  /** The newest span that may belong to the CPID; 0 if there is none. */
  #newestSpan(cpid: number): number {
    return this.#sql.number(`SELECT max(id) FROM (${ITS_SPANS})`, cpid) ?? 0
  }
}

interface Parts {
  readonly sql: PreparedStatements
  readonly objects: ObjectRemoval
  readonly index: TraceIndex
  readonly rows: PrunedRows
}

/** A trace into which a span was sent for a child. */
interface Into {
  state: number
  due_ms: number
  decision: number
}

/** Whether a span `s` was sent into a trace for one of its children. */
export const IS_SENT_FOR_CHILD = `EXISTS (SELECT 1 FROM outbox b WHERE b.span = s.id AND b.flags & ${SENT_FOR_CHILD})`

/**
 * What holds a span that was sent into traces for a child: a decision that some exporter has not sent, or an open trace. These traces
 * belong to other CPIDs.
 */
const HOLDING = `SELECT t.state, t.due_ms, b.decision FROM outbox b CROSS JOIN traces t ON t.id = b.trace
  WHERE b.flags & ${SENT_FOR_CHILD} AND (t.state = 0 OR b.decision > +?)`

/** Spans that were sent into traces for their children. */
export class SpansSentForChildren {
  readonly #parts: Parts
  /** Called for a span without a CPID that is in no trace any more but is still held. */
  #left: (span: number) => void = () => undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  onLeft(left: (span: number) => void): void {
    this.#left = left
  }

  /** What holds one of the spans whose ids the query `spans` returns. */
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

  /**
   * Call it before a decision that sent this span into a trace for a child is removed. Removes the span if it has no CPID and is in no other
   * trace. Keeps the span while it has more than `most` objects left.
   */
  release(span: number, decision: number, { sentDecision, most, counts }: Release): Released {
    const [found] = this.#parts.sql.rows<{ origin: number; bytes: number; unsent: number; brought: number }>(
      `SELECT s.origin, length(s.raw) AS bytes,
         EXISTS (SELECT 1 FROM outbox b WHERE b.span = s.id AND b.flags & ${SENT_FOR_CHILD} AND b.decision <> +?) AS brought,
         EXISTS (SELECT 1 FROM outbox o WHERE o.trace = 0 AND o.span = s.id AND o.decision > +?) AS unsent
       FROM spans s WHERE s.id = +? AND s.cpid IS NULL`,
      decision,
      sentDecision,
      span,
    )
    if (found === undefined || found.brought === 1) return { rows: 0, isDone: true }
    if (found.unsent === 1) {
      this.#left(span)
      return { rows: 0, isDone: true }
    }
    const rows = this.#parts.objects.removeOfSpan(span, most)
    if (rows >= most) return { rows, isDone: false }
    counts.spans++
    return { rows: rows + this.remove(span, found.origin, found.bytes), isDone: true }
  }

  /** Removes a span without a CPID that has no objects left. Returns how many rows it removed. */
  remove(span: number, origin: number, bytes: number): number {
    const { sql, index, rows } = this.#parts
    const removed = sql.run('DELETE FROM outbox WHERE trace = 0 AND span = +?', span)
    sql.run('DELETE FROM spans WHERE id = +?', span)
    index.removeIfEmpty(origin)
    rows.origin(origin)
    return removed + rowsOf(bytes)
  }
}

interface Release {
  readonly sentDecision: number
  readonly most: number
  readonly counts: PruneCounts
}

interface Released {
  readonly rows: number
  readonly isDone: boolean
}

const BYTES_A_ROW = 16 * 1024

/** How many rows a row with a body of this length counts as: SQLite reads each of its pages to free it. */
export function rowsOf(bytes: number): number {
  return 1 + Math.floor(bytes / BYTES_A_ROW)
}

/** Removes references of spans to objects, and objects that are no longer referenced. */
export class ObjectRemoval {
  readonly #sql: PreparedStatements
  readonly #rows: PrunedRows

  constructor(sql: PreparedStatements, rows: PrunedRows) {
    this.#sql = sql
    this.#rows = rows
  }

  /** Removes at most about `most` rows. Returns how many; `most` and above mean that there may be more. */
  removeOfSpan(span: number, most: number): number {
    const named = this.#sql.rows<{ object: number }>(
      'DELETE FROM span_objects WHERE span = +? RETURNING object LIMIT +?',
      span,
      most,
    )
    const objects = new Set(named.map(({ object }) => object))
    for (const object of objects) this.removeUnnamed(object)
    return named.length + objects.size
  }

  /** Removes an object unless a span or mergelog refers to it. */
  removeUnnamed(object: number): void {
    if (this.#sql.number('SELECT 1 FROM span_objects WHERE object = +? LIMIT 1', object) !== undefined) return
    this.#sql.run('DELETE FROM awaited_versions WHERE object = +?', object)
    this.#sql.run('DELETE FROM awaited_writers WHERE object = +?', object)
    const [gone] = this.#sql.rows<{ object: string; cluster: string }>(
      `DELETE FROM objects WHERE id = +? AND NOT EXISTS (SELECT 1 FROM mergelogs WHERE object_id = objects.id)
       RETURNING object, cluster`,
      object,
    )
    if (gone !== undefined) this.#rows.object(object, gone.object, gone.cluster)
  }
}

/** Notified of removed rows, which caches must drop. */
export interface PrunedRows {
  origin(origin: number): void
  object(id: number, object: string, cluster: string): void
  trace(id: number, root: number): void
  waitingLog(): void
}
