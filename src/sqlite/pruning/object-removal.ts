import type { PrunedRows } from './pruned-rows.ts'
import type { Statements } from './statements.ts'

/** Removes what spans read and wrote, and the objects that nothing names any more. */
export class ObjectRemoval {
  readonly #sql: Statements
  readonly #rows: PrunedRows

  constructor(sql: Statements, rows: PrunedRows) {
    this.#sql = sql
    this.#rows = rows
  }

  /** Returns how many rows went. */
  removeOfSpan(span: number): number {
    const named = this.#sql.rows<{ object: number }>(
      'SELECT DISTINCT object FROM span_objects WHERE span = +?',
      span,
    )
    if (named.length === 0) return 0
    const removed = this.#sql.run('DELETE FROM span_objects WHERE span = +?', span)
    for (const { object } of named) this.removeUnnamed(object)
    return removed + named.length
  }

  /** Removes an object that no span names, and no mergelog. */
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
