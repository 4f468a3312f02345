import type { Sqlite } from '../../src/sqlite/open-database.ts'

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
