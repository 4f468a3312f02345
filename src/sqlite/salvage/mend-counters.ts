import { RECOUNT_SCOPE_USES } from '../writer/scope-uses.ts'
import type { MendStep } from './mend-step.ts'

/** Counters are put past everything that is there. */
export const MEND_COUNTERS: readonly MendStep[] = [
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
       active_ms = max(active_ms, (SELECT coalesce(max(last_arrival_ms), 0) FROM traces)),
       live_cpids = (SELECT count(*) FROM cpids WHERE state = 0),
       tombstones = (SELECT count(*) FROM cpids WHERE state = 1)`,
  ],
  ...RECOUNT_SCOPE_USES.map((statement) => ['', statement] as const),
]
