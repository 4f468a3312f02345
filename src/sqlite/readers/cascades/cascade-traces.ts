import type { Statement } from 'better-sqlite3'
import type { TraceFacts } from '../../../model/ports/query-port.ts'
import type { Sqlite } from '../../open-database.ts'
import { traceFactsOf, TRACE_COLUMNS, type TraceRow } from './trace-row.ts'

/** As many roots as a CPID that takes part in no cascade yet is looked up under. */
const MAX_ROOTS = 8

/** Finds the traces of roots and the roots of CPIDs. */
export class CascadeTraces {
  readonly #ofRoot: Statement<[number], TraceRow>
  readonly #merged: Statement<[number, number], number>
  readonly #rootOf: Statement<[Buffer], number>
  readonly #missing: Statement<[number, number], number>
  readonly #rootsOf: Statement<[number], number>
  readonly #rootsAmong: Statement<[string, number], number>

  constructor(db: Sqlite) {
    this.#ofRoot = db
      .prepare<[number], TraceRow>(`SELECT ${TRACE_COLUMNS} FROM traces WHERE root = ? ORDER BY episode`)
      .safeIntegers()
    this.#missing = db
      .prepare<[number, number], number>(
        `SELECT DISTINCT c.id FROM traces t JOIN change_spans h ON h.trace = t.id JOIN cpids c ON c.id = h.cpid
         WHERE t.root = ? AND c.has_mergelog = 0 AND c.explained = 0 ORDER BY c.id LIMIT ?`,
      )
      .pluck()
    this.#merged = db
      .prepare<[number, number], number>(
        `SELECT DISTINCT m.cpid FROM traces t JOIN change_spans h ON h.trace = t.id JOIN mergelogs m ON m.cpid = h.cpid
         WHERE t.root = ? ORDER BY m.time_ns, m.cpid LIMIT ?`,
      )
      .pluck()
    this.#rootOf = db.prepare<[Buffer], number>('SELECT root FROM traces WHERE trace_id = ?').pluck()
    this.#rootsOf = db
      .prepare<[number], number>(
        `SELECT t.root FROM change_spans h JOIN traces t ON t.id = h.trace LEFT JOIN mergelogs m ON m.cpid = t.root
         WHERE h.cpid = ? AND NOT (t.provisional = 1 AND coalesce(length(m.sources), 0) > 0)
         GROUP BY t.root ORDER BY min(t.id) DESC`,
      )
      .pluck()
    this.#rootsAmong = db
      .prepare<[string, number], number>(
        `SELECT t.root FROM json_each(?) j JOIN traces t ON t.root = j.value
         GROUP BY t.root ORDER BY min(t.id) DESC LIMIT ?`,
      )
      .pluck()
  }

  ofRoot(root: number): TraceFacts[] {
    return this.#ofRoot.all(root).map(traceFactsOf)
  }

  missingIn(root: number, limit: number): number[] {
    return this.#missing.all(root, limit)
  }

  /** The CPIDs of a cascade that have a mergelog, by its time. */
  mergedIn(root: number, limit: number): number[] {
    return this.#merged.all(root, limit)
  }

  /** The root of the outgoing trace with this id. */
  rootOf(traceId: Buffer): number | undefined {
    return this.#rootOf.get(traceId)
  }

  /** The roots of the traces in which the CPID has a change span; before it was linked, those of its roots. */
  rootsOf(cpid: number, graphRoots: () => readonly number[]): number[] {
    const roots = this.#rootsOf.all(cpid)
    return roots.length > 0 ? roots : this.#rootsAmong.all(JSON.stringify(graphRoots()), MAX_ROOTS)
  }
}
