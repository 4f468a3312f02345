import type { MendStep } from './mend-step.ts'

/** Senders and resources that were lost get a place holder, so that their spans stay; trace ids are found again in the spans. */
export const MEND_ARRIVALS: readonly MendStep[] = [
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
