import { CPIDS_LEFT, TRACES_LEFT, type MendStep } from './mend-step.ts'

/** What was decided about something lost, or waits for it, is removed; what spans say of CPIDs and objects is kept with them. */
export const MEND_DECISIONS: readonly MendStep[] = [
  ['traces whose root was lost', `DELETE FROM traces WHERE root NOT IN (${CPIDS_LEFT})`],
  ...['change_spans', 'trace_services', 'trace_actors', 'trace_writes', 'trace_namespaces'].map(
    (table) => ['', `DELETE FROM ${table} WHERE trace NOT IN (${TRACES_LEFT})`] as const,
  ),
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
