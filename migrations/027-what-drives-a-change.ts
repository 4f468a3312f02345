import { sql, type Kysely } from 'kysely'

/** Whether the root of a trace drives a change that is in it. What was linked before counts as driven. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS = [
  'ALTER TABLE change_spans ADD COLUMN driven INTEGER NOT NULL DEFAULT 1',
  `CREATE VIEW audit_cascade_changes AS
   SELECT a.text AS root, t.episode, lower(hex(t.trace_id)) AS trace_id, b.text AS cpid,
     CASE c.driven WHEN 0 THEN 'no' ELSE 'yes' END AS drives
   FROM change_spans c JOIN traces t ON t.id = c.trace JOIN cpids a ON a.id = t.root JOIN cpids b ON b.id = c.cpid`,
]
