import { cpidOfBytes } from '../../model/cpid.ts'
import type { Sqlite } from '../open-database.ts'
import { CPIDS_LEFT, type MendStep } from './mend-step.ts'

/** Edges are found again in their mergelogs, and what the graph knows of its CPIDs is worked out from them. */
export const MEND_GRAPH: readonly MendStep[] = [
  ['mergelogs whose CPID was lost', `DELETE FROM mergelogs WHERE cpid NOT IN (${CPIDS_LEFT})`],
  ['spans whose CPID was lost', `UPDATE spans SET cpid = NULL WHERE cpid NOT IN (${CPIDS_LEFT})`],
  ['log records whose CPID was lost', `UPDATE logs SET cpid = NULL WHERE cpid NOT IN (${CPIDS_LEFT})`],
  [
    'CPIDs whose mergelog was lost',
    `UPDATE cpids SET has_mergelog = 0, merged_ns = NULL, explained = 1
     WHERE has_mergelog = 1 AND id NOT IN (SELECT cpid FROM mergelogs)`,
  ],
  [
    'edges without their CPIDs or their mergelog',
    `DELETE FROM edges WHERE source NOT IN (${CPIDS_LEFT}) OR target NOT IN (SELECT cpid FROM mergelogs)`,
  ],
  ['edges found again in their mergelogs', edgesOfMergelogs],
  [
    'CPIDs whose roots could not be read',
    `UPDATE cpids SET roots = json_array(id)
     WHERE roots IS NOT NULL AND CASE WHEN json_valid(roots) THEN json_type(roots) <> 'array' ELSE 1 END`,
  ],
  [
    '',
    `UPDATE cpids SET roots = (SELECT CASE count(*) WHEN 0 THEN json_array(cpids.id) ELSE json_group_array(j.value) END
         FROM json_each(cpids.roots) j WHERE j.value IN (${CPIDS_LEFT}))
     WHERE roots IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(cpids.roots) j WHERE j.value NOT IN (${CPIDS_LEFT}))`,
  ],
  [
    '',
    `UPDATE cpids SET in_degree = d.degree, unexplained_sources = d.unexplained FROM (
       SELECT c.id, count(e.source) AS degree, count(CASE WHEN s.explained = 0 THEN 1 END) AS unexplained
       FROM cpids c LEFT JOIN edges e ON e.target = c.id LEFT JOIN cpids s ON s.id = e.source GROUP BY c.id) d
     WHERE d.id = cpids.id AND (in_degree <> d.degree OR unexplained_sources <> d.unexplained)`,
  ],
  ['', `DELETE FROM explain_later WHERE cpid NOT IN (${CPIDS_LEFT})`],
  [
    '',
    `INSERT OR IGNORE INTO explain_later (cpid, after) SELECT id, -1 FROM cpids
     WHERE has_mergelog = 1 AND explained = 0 AND unexplained_sources = 0`,
  ],
  // Edges that were found again may be against the order; where all have the same rank, none is.
  [
    '',
    `UPDATE cpids SET rank = (SELECT max(id) FROM cpids) WHERE EXISTS (SELECT 1 FROM progress, edges e
       JOIN cpids s ON s.id = e.source JOIN cpids t ON t.id = e.target
       WHERE coalesce(s.rank, max(s.id, unranked_cpids)) > coalesce(t.rank, max(t.id, unranked_cpids)))`,
  ],
]

const CPID_BYTES = 16
const BEFORE_ALL = -(2n ** 63n)

/** Puts in the edges that mergelogs name and that are not there, one source after the other; returns how many. */
function edgesOfMergelogs(db: Sqlite): number {
  const after = db
    .prepare<[bigint], { arrival: bigint; cpid: bigint; sources: Buffer }>(
      'SELECT arrival, cpid, sources FROM mergelogs WHERE arrival > ? ORDER BY arrival LIMIT 1',
    )
    .safeIntegers()
  const insert = db.prepare<[bigint, string]>(
    'INSERT OR IGNORE INTO edges (source, target) SELECT id, ? FROM cpids WHERE text = ? AND state = 0',
  )
  let found = 0
  let mergelog = after.get(BEFORE_ALL)
  for (; mergelog !== undefined; mergelog = after.get(mergelog.arrival)) {
    const { cpid, sources } = mergelog
    for (let at = 0; at + CPID_BYTES <= sources.length; at += CPID_BYTES)
      found += insert.run(cpid, cpidOfBytes(sources.subarray(at, at + CPID_BYTES))).changes
  }
  return found
}
