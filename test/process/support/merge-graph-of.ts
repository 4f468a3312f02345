import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'

/** A merge graph as text, sorted, without what depends on the order of arrival. */
export interface StoredGraph {
  /** `source > cpid`. */
  edges: string[]
  /** `cpid kind explained roots`, the roots sorted. */
  cpids: string[]
}

export function mergeGraphOf(db: Sqlite): StoredGraph {
  const edges = db.prepare<[], string>(`SELECT source || ' > ' || cpid FROM audit_edges ORDER BY 1`)
  const cpids = db.prepare<[], string>(
    `SELECT a.cpid || ' ' || a.kind || ' ' || a.explained || ' ' ||
       (SELECT group_concat(r.text, ' ' ORDER BY r.text) FROM json_each(c.roots) j JOIN cpids r ON r.id = j.value)
     FROM audit_cpids a JOIN cpids c ON c.text = a.cpid ORDER BY 1`,
  )
  return { edges: edges.pluck().all(), cpids: cpids.pluck().all() }
}

/** Edges that lead to a lower rank; there must be none. */
export function againstOrder(db: Sqlite): unknown[] {
  return db
    .prepare(
      `SELECT e.source, e.target FROM edges e JOIN cpids s ON s.id = e.source JOIN cpids t ON t.id = e.target, progress
       WHERE coalesce(s.rank, max(s.id, unranked_cpids)) > coalesce(t.rank, max(t.id, unranked_cpids))`,
    )
    .all()
}
