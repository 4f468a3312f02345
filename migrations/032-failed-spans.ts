import { sql, type Kysely } from 'kysely'

/** How many spans of a trace, of those that count as its activity, failed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS = [
  'ALTER TABLE traces ADD COLUMN failed_spans INTEGER NOT NULL DEFAULT 0',
  // Bit 32 of a decision says that another change drives the span. One that follows its children into several traces of a root counts once.
  `UPDATE traces SET failed_spans = o.failed FROM (
     SELECT trace, count(*) AS failed FROM (
       SELECT min(d.trace) AS trace FROM outbox d JOIN spans s ON s.id = d.span JOIN traces t ON t.id = d.trace
       WHERE s.status = 2 AND d.flags & 32 = 0 GROUP BY t.root, d.span
     ) GROUP BY trace
   ) o WHERE o.trace = traces.id`,
]
