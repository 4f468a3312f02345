import type { PruneCounts } from '../../model/store-ports.ts'
import type { UnixNanos } from '../../model/time-and-size.ts'
import {
  IS_SENT_FOR_CHILD,
  type ObjectRemoval,
  type PrunedRows,
  type PruneHolds,
  rowsOf,
  type SpansSentForChildren,
} from './pruning-holds.ts'
import type { PreparedStatements } from './prepared-statements.ts'
import type { Progress } from './transactions.ts'

interface Removed {
  looked: number
  rows: number
}

interface Parts {
  readonly sql: PreparedStatements
  readonly progress: Progress
  readonly holds: PruneHolds
  readonly objects: ObjectRemoval
  readonly brought: SpansSentForChildren
  readonly rows: PrunedRows
}

/**
 * Removes spans and log records without a CPID, oldest first. A span that was sent into traces for its children is removed with the last of
 * them.
 */
export class UnattributedRemoval {
  readonly #parts: Parts
  readonly #unsent: UnsentSpans
  /** Up to this row, all spans without a CPID are in traces into which they were sent for children. */
  #passed = 0

  constructor(parts: Parts) {
    this.#parts = parts
    this.#unsent = new UnsentSpans(parts.sql)
    parts.brought.onLeft((span) => {
      this.#passed = Math.min(this.#passed, span - 1)
    })
  }

  forget(): void {
    this.#unsent.forget()
    this.#passed = 0
  }

  /** Reads further unsent decisions. True once it is known which spans may be removed. */
  readUnsent(): boolean {
    const { sql, holds, progress } = this.#parts
    if (holds.sentDecision >= progress.lastDecision) return true
    if (sql.number('SELECT 1 FROM spans WHERE cpid IS NULL LIMIT 1') === undefined) return true
    return this.#unsent.lowestAfter(holds.sentDecision, progress.lastDecision) !== undefined
  }

  /** Examines at most `limit` of each kind, and removes about as many rows. */
  remove(beforeMs: number, limit: number, forced: boolean, counts: PruneCounts): Removed {
    const removed = { looked: 0, rows: 0 }
    this.#removeSpans(beforeMs, limit, forced, counts, removed)
    if (removed.rows < limit) this.#removeLogs(beforeMs, limit, forced, counts, removed)
    return removed
  }

  oldestNs(forced: boolean): UnixNanos | undefined {
    const { sql, progress } = this.#parts
    const upTo = forced ? progress.lastArrival : this.#spansUpTo(Infinity)
    const ms = sql.number(
      'SELECT start_ns / 1000000 FROM spans WHERE cpid IS NULL AND id > +? AND id <= +? ORDER BY id LIMIT 1',
      this.#passed,
      upTo,
    )
    return ms === undefined ? undefined : BigInt(ms) * 1_000_000n
  }

  #removeSpans(
    beforeMs: number,
    limit: number,
    forced: boolean,
    counts: PruneCounts,
    removed: Removed,
  ): void {
    const { sql, progress, objects, brought } = this.#parts
    const mayGo = this.#spansUpTo(beforeMs)
    const spans = sql.rows<{ id: number; origin: number; bytes: number; isBrought: number }>(
      `SELECT s.id, s.origin, length(s.raw) AS bytes, ${IS_SENT_FOR_CHILD} AS isBrought FROM spans s
       WHERE s.cpid IS NULL AND s.id > +? AND s.id <= +? ORDER BY s.id LIMIT +?`,
      this.#passed,
      forced ? progress.lastArrival : mayGo,
      limit,
    )
    for (const { id, origin, bytes, isBrought } of spans) {
      if (removed.rows >= limit) return
      removed.looked++
      if (isBrought === 0) {
        const most = limit - removed.rows
        const ofObjects = objects.removeOfSpan(id, most)
        removed.rows += ofObjects
        if (ofObjects >= most) return
        if (id > mayGo) {
          counts.unsent++
          sql.run('DELETE FROM waiting WHERE arrival = +?', id)
        }
        removed.rows += brought.remove(id, origin, bytes)
        counts.spans++
      }
      this.#passed = id
    }
  }

  #removeLogs(beforeMs: number, limit: number, forced: boolean, counts: PruneCounts, removed: Removed): void {
    const { sql, progress, rows } = this.#parts
    const mayGo = this.#logsUpTo(beforeMs)
    const logs = sql.rows<{ id: number; bytes: number }>(
      'SELECT id, length(raw) AS bytes FROM logs WHERE cpid IS NULL AND id <= +? ORDER BY id LIMIT +?',
      forced ? progress.lastArrival : mayGo,
      limit,
    )
    for (const { id, bytes } of logs) {
      if (removed.rows >= limit) return
      if (id > mayGo) {
        counts.unsent++
        sql.run('DELETE FROM log_outbox WHERE log = +?', id)
        if (sql.run('DELETE FROM waiting_logs WHERE arrival = +?', id) > 0) rows.waitingLog()
      }
      sql.run('DELETE FROM logs WHERE id = +?', id)
      removed.looked++
      removed.rows += rowsOf(bytes)
      counts.logs++
    }
  }

  /** The row up to which spans arrived before a time, are linked, do not wait, and were sent by every exporter. */
  #spansUpTo(beforeMs: number): number {
    const { sql, holds, progress } = this.#parts
    const waiting = sql.number('SELECT min(arrival) FROM waiting') ?? Infinity
    const upTo = Math.min(this.#arrivedBefore(beforeMs), holds.reached.arrival, waiting - 1)
    if (holds.sentDecision >= progress.lastDecision) return upTo
    const unsent = this.#unsent.lowestAfter(holds.sentDecision, progress.lastDecision)
    return unsent === undefined ? 0 : Math.min(upTo, unsent - 1)
  }

  #logsUpTo(beforeMs: number): number {
    const { sql, holds } = this.#parts
    return Math.min(
      this.#arrivedBefore(beforeMs),
      holds.reached.arrival,
      (sql.number('SELECT min(log) FROM log_outbox') ?? Infinity) - 1,
      (sql.number('SELECT min(arrival) FROM waiting_logs') ?? Infinity) - 1,
    )
  }

  #arrivedBefore(beforeMs: number): number {
    const { sql, progress } = this.#parts
    if (beforeMs === Infinity) return progress.linkedArrival
    sql.run(
      'DELETE FROM arrival_marks WHERE wall_ms < (SELECT max(wall_ms) FROM arrival_marks WHERE wall_ms <= +?)',
      beforeMs,
    )
    return sql.number('SELECT max(arrival) FROM arrival_marks WHERE wall_ms <= +?', beforeMs) ?? 0
  }
}

/** Decisions in a block. */
const BLOCK = 4_096
const BLOCKS_AT_ONCE = 3

/**
 * The lowest row among the spans of decisions after a position. It is cached by block, so that only new decisions are read, however many
 * accumulate for an unreachable backend.
 */
class UnsentSpans {
  readonly #sql: PreparedStatements
  #lowest = new Map<number, number>()
  #upTo = 0

  constructor(sql: PreparedStatements) {
    this.#sql = sql
  }

  /** Infinity if there are no such decisions; undefined until all have been read. */
  lowestAfter(position: number, last: number): number | undefined {
    for (const block of this.#lowest.keys()) {
      if ((block + 1) * BLOCK > position) break
      this.#lowest.delete(block)
    }
    this.#upTo = Math.max(this.#upTo, position)
    for (let read = 0; this.#upTo < last; read++) {
      if (read === BLOCKS_AT_ONCE) return undefined
      this.#readOn(last)
    }
    let lowest = Infinity
    for (const span of this.#lowest.values()) if (span < lowest) lowest = span
    return lowest
  }

  /** Drops the cache: decision numbers may have been reused. */
  forget(): void {
    this.#lowest.clear()
    this.#upTo = 0
  }

  /** Reads the rest of the current block. */
  #readOn(last: number): void {
    const block = Math.floor(this.#upTo / BLOCK)
    const end = Math.min(last, (block + 1) * BLOCK)
    const lowest = this.#sql.number(
      'SELECT min(span) FROM outbox WHERE decision > +? AND decision <= +?',
      this.#upTo,
      end,
    )
    this.#upTo = end
    if (lowest === undefined) return
    this.#lowest.set(block, Math.min(lowest, this.#lowest.get(block) ?? Infinity))
  }
}
