import type { Statement } from 'better-sqlite3'
import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import { same } from './faults.ts'

/** Each finds rows that nothing refers to any more, or that refer to what is not there: there must be none. */
const FAULTS: Readonly<Record<string, string>> = {
  'a span without its original trace': `SELECT id FROM spans WHERE origin NOT IN (SELECT id FROM origin_traces)`,
  'an original trace without spans': `SELECT id FROM origin_traces WHERE id NOT IN (SELECT origin FROM spans)
    AND NOT EXISTS (SELECT 1 FROM marked)`,
  'a span of a CPID that is not there': `SELECT id FROM spans WHERE cpid IS NOT NULL AND cpid NOT IN (SELECT id FROM cpids WHERE state = 0)`,
  'a span that is not found by its CPID': `SELECT id FROM spans s WHERE cpid IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM cpid_origins p WHERE p.cpid = s.cpid AND p.origin = s.origin)`,
  'a log record of a CPID that is not there': `SELECT id FROM logs WHERE cpid IS NOT NULL AND cpid NOT IN (SELECT id FROM cpids WHERE state = 0)`,
  'a mergelog of a CPID that is not there': `SELECT cpid FROM mergelogs WHERE cpid NOT IN (SELECT id FROM cpids WHERE state = 0)`,
  'an edge of a CPID that is not there': `SELECT source, target FROM edges
    WHERE source NOT IN (SELECT id FROM cpids WHERE state = 0) OR target NOT IN (SELECT id FROM cpids WHERE state = 0)`,
  'a trace whose root is forgotten': `SELECT id FROM traces WHERE root NOT IN (SELECT id FROM cpids)`,
  'a trace in which nobody stands': `SELECT id FROM traces t WHERE NOT EXISTS (SELECT 1 FROM change_spans s
    JOIN cpids c ON c.id = s.cpid WHERE s.trace = t.id AND c.state = 0)`,
  'a change span of no trace': `SELECT cpid, trace FROM change_spans WHERE trace NOT IN (SELECT id FROM traces)`,
  'a change span of a CPID that is not there': `SELECT cpid, trace FROM change_spans s WHERE cpid NOT IN
    (SELECT id FROM cpids WHERE state = 0) AND cpid <> (SELECT root FROM traces WHERE id = s.trace)`,
  'what was sent into no trace': `SELECT decision FROM outbox WHERE trace <> 0 AND trace NOT IN (SELECT id FROM traces)`,
  'what was sent on in place of no span': `SELECT decision FROM outbox WHERE trace = 0 AND span NOT IN (SELECT id FROM spans)`,
  'a service in no trace': `SELECT trace FROM trace_services WHERE trace NOT IN (SELECT id FROM traces)`,
  'an actor in no trace': `SELECT trace FROM trace_actors WHERE trace NOT IN (SELECT id FROM traces)`,
  'a namespace of no cascade': `SELECT trace FROM trace_namespaces WHERE trace NOT IN
    (SELECT coalesce(continues, id) FROM traces UNION SELECT id FROM traces)`,
  'a Pod of no cascade': `SELECT trace FROM cascade_pods WHERE trace NOT IN
    (SELECT coalesce(continues, id) FROM traces UNION SELECT id FROM traces)`,
  'what was measured for no cascade': `SELECT trace FROM pod_series WHERE trace NOT IN
    (SELECT coalesce(continues, id) FROM traces UNION SELECT id FROM traces)`,
  'what a span joined that is not there': `SELECT span FROM joined_spans WHERE span NOT IN (SELECT id FROM spans)`,
  'what is awaited by a span that does not wait': `SELECT span FROM awaited_joins WHERE span NOT IN (SELECT arrival FROM waiting)`,
  'what was told of a write that is not there': `SELECT span FROM seen_writes WHERE span NOT IN (SELECT id FROM spans)`,
  'a write in no cascade': `SELECT trace FROM trace_writes WHERE trace NOT IN
    (SELECT coalesce(continues, id) FROM traces UNION SELECT id FROM traces)`,
  'a parent awaited in no trace': `SELECT trace FROM awaited_parents WHERE trace > 0 AND trace NOT IN (SELECT id FROM traces)`,
  'what waits and is not there': `SELECT arrival FROM waiting WHERE kind <> 1 AND arrival NOT IN (SELECT id FROM spans)`,
  'what waits for a CPID that is not there': `SELECT arrival FROM waiting WHERE cpid IS NOT NULL AND cpid NOT IN
    (SELECT id FROM cpids WHERE state = 0)`,
  'a log record that waits and is not there': `SELECT arrival FROM waiting_logs WHERE arrival NOT IN (SELECT id FROM logs)`,
  'a log record to send that is not there': `SELECT decision FROM log_outbox WHERE log NOT IN (SELECT id FROM logs)`,
  'a log record with a CPID that is forgotten': `SELECT decision FROM log_outbox WHERE cpid IS NOT NULL AND cpid NOT IN (SELECT id FROM cpids)`,
  'an object named by no span': `SELECT id FROM objects WHERE id NOT IN (SELECT object FROM span_objects)
    AND id NOT IN (SELECT object_id FROM mergelogs WHERE object_id IS NOT NULL)`,
  'an object that is not there': `SELECT object FROM span_objects WHERE object NOT IN (SELECT id FROM objects)
    UNION SELECT object_id FROM mergelogs WHERE object_id IS NOT NULL AND object_id NOT IN (SELECT id FROM objects)`,
  'what a span named that is not there': `SELECT span FROM span_objects WHERE span NOT IN (SELECT id FROM spans)`,
  'a span with the scope of nobody': `SELECT id FROM spans WHERE scope NOT IN (SELECT id FROM scopes)
    UNION SELECT id FROM logs WHERE scope NOT IN (SELECT id FROM scopes)
    UNION SELECT decision FROM outbox WHERE scope IS NOT NULL AND scope NOT IN (SELECT id FROM scopes)
    UNION SELECT arrival FROM mergelogs WHERE scope NOT IN (SELECT id FROM scopes)`,
  'a scope with the resource of nobody': `SELECT id FROM scopes WHERE resource NOT IN (SELECT id FROM resources)`,
  'a wrong count of rows that name a scope': `SELECT id FROM scopes p WHERE uses <>
    (SELECT count(*) FROM spans WHERE scope = p.id) + (SELECT count(*) FROM logs WHERE scope = p.id)
    + (SELECT count(*) FROM mergelogs WHERE scope = p.id) + (SELECT count(*) FROM outbox WHERE scope = p.id)
    + (SELECT count(*) FROM rejected_mergelogs WHERE scope = p.id)`,
  'a wrong count of incoming edges': `SELECT id FROM cpids WHERE state = 0
    AND in_degree <> (SELECT count(*) FROM edges WHERE target = cpids.id)`,
  'a wrong count of sources that are not explained': `SELECT id FROM cpids c WHERE state = 0 AND unexplained_sources <>
    (SELECT count(*) FROM edges JOIN cpids s ON s.id = source WHERE target = c.id AND s.explained = 0)`,
  'one that is not explained though nothing is missing': `SELECT id FROM cpids WHERE state = 0 AND has_mergelog = 1
    AND unexplained_sources = 0 AND explained = 0 AND id NOT IN (SELECT id FROM marked)`,
  'a wrong count of CPIDs': `SELECT live_cpids, tombstones FROM progress
    WHERE live_cpids <> (SELECT count(*) FROM cpids WHERE state = 0)
    OR tombstones <> (SELECT count(*) FROM cpids WHERE state = 1)`,
  'something set aside': `SELECT stage, kind, item, reason FROM set_aside`,
}

/** Which there are; what is being removed, over several turns, is on its way out. */
const THERE = `WITH marked AS (SELECT id FROM cpids WHERE state = 0 AND prune_ns < 0)
  ${Object.entries(FAULTS)
    .map(([fault, sql]) => `SELECT '${fault}' WHERE EXISTS (${sql})`)
    .join(' UNION ALL ')}`

/** Says whether rows refer to what is not there, whether any has no owner, and whether what is counted is another number. */
export class Soundness {
  readonly #faults: Statement<[], string>

  constructor(db: Sqlite) {
    this.#faults = db.prepare<[], string>(THERE).pluck()
  }

  /** Throws where there is any such fault. */
  expect(): void {
    same(this.#faults.all(), [], 'the database is not sound')
  }
}
