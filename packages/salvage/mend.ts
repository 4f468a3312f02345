import { cpidOfBytes } from '../../src/model/merge-graph.ts'
import { unlessMalformed } from '../../src/model/otlp/protobuf-wire.ts'
import { readReceived } from '../../src/model/otlp/outgoing-records.ts'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { RECOUNT_SCOPE_USES } from '../../src/store/sqlite/transactions.ts'

/** What was taken out or set right, and how many rows that were. */
export interface Mended {
  readonly what: string
  readonly rows: number
}

/**
 * A statement that mends a salvaged database, or what does so and returns how many rows it changed; `what` is how an operator
 * hears of its rows, empty where there is nothing to hear.
 */
type MendStep = readonly [what: string, step: string | ((db: Sqlite) => number)]

const CPIDS_LEFT = 'SELECT id FROM cpids'
const TRACES_LEFT = 'SELECT id FROM traces'

/** Senders and resources that were lost get a place holder, so that their spans stay; trace ids are found again in the spans. */
const MEND_ARRIVALS: readonly MendStep[] = [
  // Numbers of spans that were lost may be given again.
  ['', 'DELETE FROM span_blocks'],
  ['', 'DELETE FROM own_span_blocks'],
  ['', 'DELETE FROM long_traces'],
  [
    'resources that were lost, whose scopes are kept',
    `INSERT INTO resources (id, hash, service, envelope)
     SELECT DISTINCT resource, CAST('lost ' || resource AS BLOB), '(lost)', x'' FROM scopes
     WHERE resource NOT IN (SELECT id FROM resources)`,
  ],
  [
    '',
    `INSERT OR IGNORE INTO resources (id, hash, service, envelope) SELECT -1, CAST('lost' AS BLOB), '(lost)', x''
     WHERE EXISTS (SELECT 1 FROM spans WHERE scope NOT IN (SELECT id FROM scopes))
        OR EXISTS (SELECT 1 FROM logs WHERE scope NOT IN (SELECT id FROM scopes))
        OR EXISTS (SELECT 1 FROM mergelogs WHERE scope NOT IN (SELECT id FROM scopes))
        OR EXISTS (SELECT 1 FROM rejected_mergelogs WHERE scope NOT IN (SELECT id FROM scopes))
        OR EXISTS (SELECT 1 FROM outbox WHERE scope NOT IN (SELECT id FROM scopes))`,
  ],
  [
    'scopes that were lost, whose spans and logs are kept',
    `INSERT INTO scopes (id, resource, hash, envelope)
     SELECT scope, -1, CAST('lost ' || scope AS BLOB), x'' FROM (SELECT scope FROM spans UNION SELECT scope FROM logs
       UNION SELECT scope FROM mergelogs UNION SELECT scope FROM rejected_mergelogs UNION SELECT scope FROM outbox WHERE scope IS NOT NULL)
     WHERE scope NOT IN (SELECT id FROM scopes)`,
  ],
  [
    'original traces found again in their spans',
    `INSERT OR IGNORE INTO origin_traces (id, trace_id) SELECT origin, received_trace_id(raw) FROM spans
     WHERE origin NOT IN (SELECT id FROM origin_traces) AND received_trace_id(raw) IS NOT NULL GROUP BY origin`,
  ],
  [
    'spans whose original trace was lost',
    'DELETE FROM spans WHERE origin NOT IN (SELECT id FROM origin_traces)',
  ],
  [
    '',
    'DELETE FROM origin_trace_index WHERE (origin, trace_id) NOT IN (SELECT id, trace_id FROM origin_traces)',
  ],
  [
    'trace ids put into their index again',
    `INSERT OR IGNORE INTO origin_trace_index (trace_id, origin) SELECT trace_id, o.id FROM origin_traces o, progress
     WHERE o.id <= indexed_origins
       OR o.id <= indexing_origins AND hex(substr(trace_id, 1, 4)) < printf('%08X', indexing_prefix)
     ORDER BY trace_id`,
  ],
]

/** Edges are found again in their mergelogs, and what the graph knows of its CPIDs is worked out from them. */
const MEND_GRAPH: readonly MendStep[] = [
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

/** What was decided about something lost, or waits for it, is removed; what spans say of CPIDs and objects is kept with them. */
const MEND_DECISIONS: readonly MendStep[] = [
  ['traces whose root was lost', `DELETE FROM traces WHERE root NOT IN (${CPIDS_LEFT})`],
  ...[
    'change_spans',
    'trace_services',
    'trace_actors',
    'trace_writes',
    'trace_namespaces',
    'cascade_pods',
    'pod_series',
  ].map((table) => ['', `DELETE FROM ${table} WHERE trace NOT IN (${TRACES_LEFT})`] as const),
  ['', `DELETE FROM change_spans WHERE cpid NOT IN (${CPIDS_LEFT})`],
  ['', `DELETE FROM awaited_parents WHERE trace <> 0 AND trace NOT IN (${TRACES_LEFT})`],
  [
    'decisions about spans and traces that were lost',
    `DELETE FROM outbox WHERE trace <> 0 AND trace NOT IN (${TRACES_LEFT})
       OR span IS NOT NULL AND span NOT IN (SELECT id FROM spans)`,
  ],
  [
    '',
    `INSERT OR IGNORE INTO cpid_origins (cpid, origin) SELECT DISTINCT cpid, origin FROM spans WHERE cpid IS NOT NULL`,
  ],
  [
    '',
    `DELETE FROM cpid_origins WHERE cpid NOT IN (${CPIDS_LEFT}) OR origin NOT IN (SELECT id FROM origin_traces)`,
  ],
  [
    'objects named by spans that were lost',
    `DELETE FROM span_objects WHERE span NOT IN (SELECT id FROM spans) OR object NOT IN (SELECT id FROM objects)`,
  ],
  ['', `DELETE FROM seen_writes WHERE span NOT IN (SELECT id FROM spans)`],
  ['', `DELETE FROM joined_spans WHERE span NOT IN (SELECT id FROM spans)`],
  ['', `UPDATE mergelogs SET object_id = NULL WHERE object_id NOT IN (SELECT id FROM objects)`],
  ['', `DELETE FROM graph_events WHERE cpid NOT IN (${CPIDS_LEFT})`],
  [
    '',
    `DELETE FROM waiting WHERE cpid NOT IN (${CPIDS_LEFT}) OR kind <> 1 AND arrival NOT IN (SELECT id FROM spans)`,
  ],
  ['', 'DELETE FROM awaited_joins WHERE span NOT IN (SELECT arrival FROM waiting WHERE kind = 5)'],
  ['', 'DELETE FROM waiting_logs WHERE arrival NOT IN (SELECT id FROM logs)'],
  ['', 'DELETE FROM log_outbox WHERE log NOT IN (SELECT id FROM logs)'],
]

/** Counters are put past everything that is there. */
const MEND_COUNTERS: readonly MendStep[] = [
  [
    '',
    `UPDATE progress SET
       last_arrival = max(last_arrival, (SELECT coalesce(max(id), 0) FROM spans),
         (SELECT coalesce(max(id), 0) FROM logs), (SELECT coalesce(max(arrival), 0) FROM mergelogs),
         (SELECT coalesce(max(arrival), 0) FROM graph_events)),
       last_decision = max(last_decision, (SELECT coalesce(max(decision), 0) FROM outbox),
         (SELECT coalesce(max(position), 0) FROM exporters)),
       last_log_decision = max(last_log_decision, (SELECT coalesce(max(decision), 0) FROM log_outbox),
         (SELECT coalesce(max(position), 0) FROM log_exporters)),
       last_metric_decision = max(last_metric_decision, (SELECT coalesce(max(decision), 0) FROM metric_outbox),
         (SELECT coalesce(max(position), 0) FROM metric_exporters)),
       active_ms = max(active_ms, (SELECT coalesce(max(last_arrival_ms), 0) FROM traces)),
       live_cpids = (SELECT count(*) FROM cpids WHERE state = 0),
       tombstones = (SELECT count(*) FROM cpids WHERE state = 1)`,
  ],
  // An archive gets all that is left once more: it knows each fact, and numbers of changes may come again.
  ['', 'DELETE FROM archives'],
  ['', 'DELETE FROM archive_changes'],
  ...RECOUNT_SCOPE_USES.map((statement) => ['', statement] as const),
]

/**
 * Makes what was salvaged agree with itself again, in this order. What can be worked out from something else is; what
 * refers to something lost is removed.
 */
const STEPS = [...MEND_ARRIVALS, ...MEND_GRAPH, ...MEND_DECISIONS, ...MEND_COUNTERS]

/** Mends a salvaged database in one transaction; returns what an operator may want to know of it. */
export function mend(db: Sqlite, isProgressLost: boolean): Mended[] {
  db.function('received_trace_id', { deterministic: true }, receivedTraceId)
  return db.transaction(() => {
    const mended: Mended[] = []
    // What is not in the index is read when Causeway starts; without progress that would be all of it.
    if (isProgressLost)
      db.exec('UPDATE progress SET indexed_origins = coalesce((SELECT max(origin) FROM spans), 0)')
    for (const [what, step] of STEPS) {
      const rows = typeof step === 'string' ? db.prepare(step).run().changes : step(db)
      if (what !== '' && rows > 0) mended.push({ what, rows })
    }
    // Without it nobody knows what was linked; linking all of it again would send everything twice.
    if (isProgressLost) db.exec('UPDATE progress SET linked_arrival = last_arrival')
    return mended
  })()
}

/** The trace id in a span's bytes; null where they do not say. */
function receivedTraceId(raw: unknown): Buffer | null {
  const traceId = unlessMalformed(
    () => readReceived(raw as Buffer).traceId,
    () => undefined,
  )
  return traceId?.length === 16 ? traceId : null
}
