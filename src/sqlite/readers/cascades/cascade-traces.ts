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
        `SELECT DISTINCT cpids.id FROM traces JOIN change_spans ON change_spans.trace = traces.id
         JOIN cpids ON cpids.id = change_spans.cpid
         WHERE traces.root = ? AND cpids.has_mergelog = 0 AND cpids.explained = 0 ORDER BY cpids.id LIMIT ?`,
      )
      .pluck()
    this.#merged = db
      .prepare<[number, number], number>(
        `SELECT DISTINCT mergelogs.cpid FROM traces JOIN change_spans ON change_spans.trace = traces.id
         JOIN mergelogs ON mergelogs.cpid = change_spans.cpid
         WHERE traces.root = ? ORDER BY mergelogs.time_ns, mergelogs.cpid LIMIT ?`,
      )
      .pluck()
    this.#rootOf = db.prepare<[Buffer], number>('SELECT root FROM traces WHERE trace_id = ?').pluck()
    this.#rootsOf = db
      .prepare<[number], number>(
        `SELECT traces.root FROM change_spans JOIN traces ON traces.id = change_spans.trace
         LEFT JOIN mergelogs ON mergelogs.cpid = traces.root
         WHERE change_spans.cpid = ? AND NOT (traces.provisional = 1 AND coalesce(length(mergelogs.sources), 0) > 0)
         GROUP BY traces.root ORDER BY min(traces.id) DESC`,
      )
      .pluck()
    this.#rootsAmong = db
      .prepare<[string, number], number>(
        `SELECT traces.root FROM json_each(?) wanted JOIN traces ON traces.root = wanted.value
         GROUP BY traces.root ORDER BY min(traces.id) DESC LIMIT ?`,
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
