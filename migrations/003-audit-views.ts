import { sql, type Kysely } from 'kysely'

/** What an auditor reads with the plain sqlite3 shell: CPIDs as text, times as RFC 3339, names instead of numbers. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const view of VIEWS) await sql.raw(view).execute(db)
}

const uuid = (blob: string): string =>
  `lower(substr(hex(${blob}), 1, 8) || '-' || substr(hex(${blob}), 9, 4) || '-' || substr(hex(${blob}), 13, 4)
    || '-' || substr(hex(${blob}), 17, 4) || '-' || substr(hex(${blob}), 21, 12))`

const nanos = (ns: string): string =>
  `strftime('%Y-%m-%dT%H:%M:%S', ${ns} / 1000000000, 'unixepoch') || printf('.%09dZ', ${ns} % 1000000000)`

const millis = (ms: string): string =>
  `strftime('%Y-%m-%dT%H:%M:%S', ${ms} / 1000, 'unixepoch') || printf('.%03dZ', ${ms} % 1000)`

const spanId = (id: string): string => `CASE WHEN ${id} <> 0 THEN printf('%016x', ${id}) END`

const VIEWS = [
  `CREATE VIEW audit_cpids AS
   SELECT ${uuid('c.uuid')} AS cpid, CASE c.state WHEN 0 THEN 'live' ELSE 'pruned' END AS state,
     CASE c.explained WHEN 1 THEN 'yes' ELSE 'no' END AS explained, ${millis('c.first_seen_ms')} AS first_seen,
     ${nanos('m.time_ns')} AS merged_at, r.service, r.cluster, m.object, m.reason
   FROM cpids c LEFT JOIN mergelogs m ON m.cpid = c.id
   LEFT JOIN scopes s ON s.id = m.scope LEFT JOIN resources r ON r.id = s.resource`,
  `CREATE VIEW audit_mergelogs AS
   SELECT ${uuid('c.uuid')} AS cpid, ${nanos('m.time_ns')} AS time, ${millis('m.arrived_ms')} AS arrived,
     length(m.sources) / 16 AS source_count, r.service, r.cluster, m.object, m.reason
   FROM mergelogs m JOIN cpids c ON c.id = m.cpid
   LEFT JOIN scopes s ON s.id = m.scope LEFT JOIN resources r ON r.id = s.resource`,
  `CREATE VIEW audit_edges AS
   SELECT ${uuid('a.uuid')} AS source, ${uuid('b.uuid')} AS cpid
   FROM edges e JOIN cpids a ON a.id = e.source JOIN cpids b ON b.id = e.target`,
  `CREATE VIEW audit_rejected_mergelogs AS
   SELECT ${millis('x.arrived_ms')} AS arrived, x.cpid, x.sources, x.reason, r.service, r.cluster
   FROM rejected_mergelogs x
   LEFT JOIN scopes s ON s.id = x.scope LEFT JOIN resources r ON r.id = s.resource`,
  `CREATE VIEW audit_spans AS
   SELECT s.id AS arrival, ${uuid('c.uuid')} AS cpid, lower(hex(o.trace_id)) AS trace_id,
     ${spanId('s.span_id')} AS span_id, ${spanId('s.parent_id')} AS parent_span_id, s.name, r.service, r.cluster,
     ${nanos('s.start_ns')} AS start, ${nanos('s.end_ns')} AS "end", (s.end_ns - s.start_ns) / 1e6 AS duration_ms,
     CASE s.kind WHEN 1 THEN 'internal' WHEN 2 THEN 'server' WHEN 3 THEN 'client' WHEN 4 THEN 'producer'
       WHEN 5 THEN 'consumer' ELSE 'unspecified' END AS kind,
     CASE s.status WHEN 1 THEN 'ok' WHEN 2 THEN 'error' ELSE 'unset' END AS status
   FROM spans s LEFT JOIN cpids c ON c.id = s.cpid JOIN origin_traces o ON o.id = s.origin
   LEFT JOIN scopes p ON p.id = s.scope LEFT JOIN resources r ON r.id = p.resource`,
  `CREATE VIEW audit_logs AS
   SELECT l.id AS arrival, ${uuid('c.uuid')} AS cpid, ${nanos('l.time_ns')} AS time, l.event_name, l.severity,
     r.service, r.cluster
   FROM logs l LEFT JOIN cpids c ON c.id = l.cpid
   LEFT JOIN scopes p ON p.id = l.scope LEFT JOIN resources r ON r.id = p.resource`,
  `CREATE VIEW audit_cascades AS
   SELECT ${uuid('c.uuid')} AS root, t.episode, lower(hex(t.trace_id)) AS trace_id,
     CASE t.state WHEN 0 THEN 'open' ELSE 'settled' END AS state, ${nanos('t.first_ns')} AS start,
     ${nanos('t.last_ns')} AS last_activity, (t.last_ns - t.first_ns) / 1e6 AS duration_ms,
     t.controller_spans AS spans, t.services, t.merges, t.missing, m.object, r.service
   FROM traces t JOIN cpids c ON c.id = t.root LEFT JOIN mergelogs m ON m.cpid = c.id
   LEFT JOIN scopes s ON s.id = m.scope LEFT JOIN resources r ON r.id = s.resource`,
]
