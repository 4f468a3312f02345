import { sql, type Kysely } from 'kysely'

/** Causes are those of a cascade, which goes on in another trace when one is full. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const nanos = (ns: string): string =>
  `strftime('%Y-%m-%dT%H:%M:%S', ${ns} / 1000000000, 'unixepoch') || printf('.%09dZ', ${ns} % 1000000000)`

const spanId = (id: string): string => `CASE WHEN ${id} <> 0 THEN printf('%016x', ${id}) END`

const ms = (from: string, to: string): string => `(${to} - ${from}) / 1e6`

const sender = (scope: string): string =>
  `LEFT JOIN scopes p ON p.id = ${scope} LEFT JOIN resources r ON r.id = p.resource`

const STATEMENTS = [
  // The first trace of the cascade that this one goes on with because those before were full; null for a first one.
  'ALTER TABLE traces ADD COLUMN continues INTEGER',
  'CREATE INDEX traces_by_cascade ON traces (continues) WHERE continues IS NOT NULL',
  // Such an episode was opened with the time at which the trace before had been opened, and no other was.
  `UPDATE traces SET continues = (SELECT x.id FROM traces x WHERE x.root = traces.root AND x.opened_ms = traces.opened_ms
     AND x.episode < traces.episode ORDER BY x.episode LIMIT 1) WHERE episode > 0`,
  // What a cascade wrote is kept under the number of its first trace.
  `UPDATE OR REPLACE trace_writes SET trace = (SELECT t.continues FROM traces t WHERE t.id = trace_writes.trace)
   WHERE trace IN (SELECT id FROM traces WHERE continues IS NOT NULL)`,
  // The trace of the cascade in which the span is that `cause` names; null for this one. Of a synthetic span `cause`
  // is the id of the span above.
  'ALTER TABLE outbox ADD COLUMN cause_trace INTEGER',

  'DROP VIEW audit_cascades',
  `CREATE VIEW audit_cascades AS
   SELECT c.text AS root, t.episode, lower(hex(t.trace_id)) AS trace_id,
     CASE t.state WHEN 0 THEN 'open' ELSE 'settled' END AS state, ${nanos('t.first_ns')} AS start,
     ${nanos('t.last_ns')} AS last_activity, ${ms('t.first_ns', 't.last_ns')} AS duration_ms,
     t.controller_spans AS spans, t.services, t.merges,
     CASE t.state WHEN 1 THEN t.missing ELSE (SELECT count(DISTINCT k.id) FROM traces u
       JOIN change_spans h ON h.trace = u.id JOIN cpids k ON k.id = h.cpid WHERE u.root = t.root
       AND coalesce(u.continues, u.id) = coalesce(t.continues, t.id) AND k.has_mergelog = 0 AND k.explained = 0)
     END AS missing,
     m.object_name AS object, r.service, r.cluster, m.reason,
     CASE t.truncated WHEN 1 THEN 'yes' ELSE 'no' END AS truncated, CASE WHEN f.id IS NOT NULL THEN lower(hex(f.trace_id)) END AS continues,
     CASE t.clock_skew WHEN 1 THEN 'yes' ELSE 'no' END AS clock_skew
   FROM traces t JOIN cpids c ON c.id = t.root LEFT JOIN mergelogs m ON m.cpid = c.id ${sender('m.scope')}
   LEFT JOIN traces f ON f.id = t.continues
   WHERE NOT (t.provisional = 1 AND coalesce(length(m.sources), 0) > 0)`,
  // waited_ms is from the end of the write that a span observed, in whichever trace of the cascade that is.
  'DROP VIEW audit_cascade_spans',
  `CREATE VIEW audit_cascade_spans AS
   SELECT a.text AS root, t.episode, lower(hex(t.trace_id)) AS trace_id, c.text AS cpid,
     ${spanId('s.span_id')} AS span_id, ${spanId('d.parent_id')} AS parent_span_id, s.name, r.service, r.cluster,
     ${nanos('s.start_ns')} AS start, ${nanos('s.end_ns')} AS "end", ${ms('s.start_ns', 's.end_ns')} AS duration_ms,
     max(0, ${ms('w.end_ns', 's.start_ns')}) AS waited_ms,
     CASE s.kind WHEN 1 THEN 'internal' WHEN 2 THEN 'server' WHEN 3 THEN 'client' WHEN 4 THEN 'producer'
       WHEN 5 THEN 'consumer' ELSE 'unspecified' END AS kind,
     CASE s.status WHEN 1 THEN 'ok' WHEN 2 THEN 'error' ELSE 'unset' END AS status,
     CASE WHEN d.flags & 1 THEN 'yes' ELSE 'no' END AS copy
   FROM cpids a JOIN traces t ON t.root = a.id JOIN outbox d ON d.trace = t.id JOIN spans s ON s.id = d.span
   LEFT JOIN cpids c ON c.id = s.cpid LEFT JOIN spans w ON w.id = d.cause AND w.origin <> s.origin ${sender('s.scope')}`,
]
