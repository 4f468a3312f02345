import { kind, millis, ms, nanos, part, sender, severity, spanId, status } from './expressions.ts'

/**
 * Spans with their CPIDs: by way of cpid_origins, since spans have no index by CPID. The plus keeps SQLite from making
 * one for each question.
 */
const ATTRIBUTED = `cpids c JOIN cpid_origins i ON i.cpid = c.id JOIN spans s ON s.origin = i.origin AND +s.cpid = c.id`

const SPAN_COLUMNS = `lower(hex(o.trace_id)) AS trace_id, ${spanId('s.span_id')} AS span_id,
     ${spanId('s.parent_id')} AS parent_span_id, s.name, r.service, r.cluster,
     ${nanos('s.start_ns')} AS start, ${nanos('s.end_ns')} AS "end", ${ms('s.start_ns', 's.end_ns')} AS duration_ms,
     ${kind('s.kind')} AS kind, ${status('s.status')} AS status`

const EVENT_COLUMNS = `b.object, b.cluster, CASE x.role WHEN 1 THEN 'wrote' ELSE 'observed' END AS action,
     CASE WHEN x.version >= 0 THEN x.version END AS object_version, x.uid AS object_uid,
     ${nanos('s.end_ns')} AS time, r.service, s.name AS span, ${spanId('s.span_id')} AS span_id,
     lower(hex(o.trace_id)) AS trace_id, ${status('s.status')} AS status`

const LOG_COLUMNS = `${nanos('l.time_ns')} AS time, l.event_name, ${severity('l.severity')} AS severity,
     r.service, r.cluster, lower(hex(l.trace_id)) AS trace_id, ${spanId('l.span_id')} AS span_id`

/**
 * Three views: what carries a CPID, what carries none, and both. SQLite looks single CPIDs and objects up in both, but
 * reads it whole in a join; the part with CPIDs is looked up in joins too.
 */
const inTwoParts = (
  what: string,
  arrival: string,
  columns: string,
  attributed: string,
  unattributed: string,
): string[] => [
  `CREATE VIEW audit_attributed_${what} AS SELECT ${arrival}, c.text AS cpid, ${columns} FROM ${attributed}`,
  `CREATE VIEW audit_unattributed_${what} AS SELECT ${arrival}, NULL AS cpid, ${columns} FROM ${unattributed}`,
  `CREATE VIEW audit_${what} AS SELECT * FROM audit_attributed_${what} UNION ALL SELECT * FROM audit_unattributed_${what}`,
]

/** What an auditor reads with the plain sqlite3 shell: CPIDs as text, times as RFC 3339, names instead of numbers. */
export const AUDIT_VIEWS = [
  `CREATE VIEW audit_cpids AS
   SELECT c.text AS cpid, CASE c.state WHEN 0 THEN 'live' ELSE 'pruned' END AS state,
     CASE WHEN m.cpid IS NULL THEN 'unknown' WHEN length(m.sources) = 0 THEN 'root' ELSE 'merge' END AS kind,
     CASE c.explained WHEN 1 THEN 'yes' ELSE 'no' END AS explained, ${millis('c.first_seen_ms')} AS first_seen,
     ${nanos('m.time_ns')} AS merged_at, r.service, r.cluster, m.object_name AS object,
     ${part('m.object', 'uid')} AS object_uid, ${part('m.object', 'rv')} AS object_version, m.reason
   FROM cpids c LEFT JOIN mergelogs m ON m.cpid = c.id ${sender('m.scope')}`,
  `CREATE VIEW audit_mergelogs AS
   SELECT c.text AS cpid, ${nanos('m.time_ns')} AS time, ${millis('m.arrived_ms')} AS arrived,
     length(m.sources) / 16 AS source_count, r.service, r.cluster, m.object_name AS object,
     ${part('m.object', 'uid')} AS object_uid, ${part('m.object', 'rv')} AS object_version, m.reason
   FROM mergelogs m JOIN cpids c ON c.id = m.cpid ${sender('m.scope')}`,
  `CREATE VIEW audit_edges AS
   SELECT a.text AS source, b.text AS cpid
   FROM edges e JOIN cpids a ON a.id = e.source JOIN cpids b ON b.id = e.target`,
  `CREATE VIEW audit_rejected_mergelogs AS
   SELECT ${millis('x.arrived_ms')} AS arrived, x.cpid, x.sources, x.reason, r.service, r.cluster, x.sender
   FROM rejected_mergelogs x
   ${sender('x.scope')}`,
  `CREATE VIEW audit_rejected_items AS
   SELECT ${millis('q.arrived_ms')} AS arrived, q.rejected AS items, q.message
   FROM requests q WHERE q.rejected > 0 OR q.message <> ''`,

  ...inTwoParts(
    'spans',
    `s.id AS arrival`,
    SPAN_COLUMNS,
    `${ATTRIBUTED} JOIN origin_traces o ON o.id = s.origin ${sender('s.scope')}`,
    `spans s JOIN origin_traces o ON o.id = s.origin ${sender('s.scope')} WHERE s.cpid IS NULL`,
  ),
  // The time of an event is the end of the span that named the object.
  ...inTwoParts(
    'object_events',
    `s.id AS arrival`,
    EVENT_COLUMNS,
    `${ATTRIBUTED} JOIN span_objects x ON x.span = s.id JOIN objects b ON b.id = x.object
   JOIN origin_traces o ON o.id = s.origin ${sender('s.scope')}`,
    `objects b JOIN span_objects x ON x.object = b.id JOIN spans s ON s.id = x.span
   JOIN origin_traces o ON o.id = s.origin ${sender('s.scope')} WHERE s.cpid IS NULL`,
  ),
  ...inTwoParts(
    'logs',
    `l.id AS arrival`,
    LOG_COLUMNS,
    `cpids c JOIN logs l ON l.cpid = c.id ${sender('l.scope')}`,
    `logs l ${sender('l.scope')} WHERE l.cpid IS NULL`,
  ),

  // One row a trace: the main one is episode 0. What a CPID that turned out to have sources left behind is no cascade.
  `CREATE VIEW audit_cascades AS
   SELECT c.text AS root, t.episode, lower(hex(t.trace_id)) AS trace_id,
     CASE t.state WHEN 0 THEN 'open' ELSE 'settled' END AS state, ${nanos('t.first_ns')} AS start,
     ${nanos('t.last_ns')} AS last_activity, ${ms('t.first_ns', 't.last_ns')} AS duration_ms,
     t.controller_spans AS spans, t.services, t.merges,
     CASE t.state WHEN 1 THEN t.missing ELSE (SELECT count(*) FROM change_spans h JOIN cpids k ON k.id = h.cpid
       WHERE h.trace = t.id AND k.has_mergelog = 0 AND k.explained = 0) END AS missing,
     m.object_name AS object, r.service, r.cluster, m.reason,
     CASE t.truncated WHEN 1 THEN 'yes' ELSE 'no' END AS truncated
   FROM traces t JOIN cpids c ON c.id = t.root LEFT JOIN mergelogs m ON m.cpid = c.id ${sender('m.scope')}
   WHERE NOT (t.provisional = 1 AND coalesce(length(m.sources), 0) > 0)`,
  // The spans of each trace as they were sent on; waited_ms is from the end of the write that a span observed.
  `CREATE VIEW audit_cascade_spans AS
   SELECT a.text AS root, t.episode, lower(hex(t.trace_id)) AS trace_id, c.text AS cpid,
     ${spanId('s.span_id')} AS span_id, ${spanId('d.parent_id')} AS parent_span_id, s.name, r.service, r.cluster,
     ${nanos('s.start_ns')} AS start, ${nanos('s.end_ns')} AS "end", ${ms('s.start_ns', 's.end_ns')} AS duration_ms,
     max(0, ${ms('w.end_ns', 's.start_ns')}) AS waited_ms, ${kind('s.kind')} AS kind, ${status('s.status')} AS status,
     CASE WHEN d.flags & 1 THEN 'yes' ELSE 'no' END AS copy
   FROM cpids a JOIN traces t ON t.root = a.id JOIN outbox d ON d.trace = t.id JOIN spans s ON s.id = d.span
   LEFT JOIN cpids c ON c.id = s.cpid LEFT JOIN spans w ON w.id = d.cause ${sender('s.scope')}`,
  `CREATE VIEW audit_exporters AS
   SELECT e.name, e.position, p.last_decision - e.position AS waiting, e.refused
   FROM exporters e, progress p`,
]
