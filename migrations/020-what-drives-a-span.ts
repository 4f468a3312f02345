import { sql, type Kysely } from 'kysely'

/**
 * Which span told of a mergelog, and since when that is known, in up time; whether a child of a parent that is awaited is
 * activity of the trace it went to; whether a span is activity of a cascade. What was linked before was.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  const { rows } = await sql<{
    text: string
  }>`SELECT sql AS text FROM sqlite_schema WHERE name = ${VIEW}`.execute(db)
  await sql.raw(`DROP VIEW ${VIEW}`).execute(db)
  await sql
    .raw((rows[0]?.text ?? '').replace(/\n +FROM cpids a JOIN traces/, `,\n  ${ACTIVITY}$&`))
    .execute(db)
}

const VIEW = 'audit_cascade_spans'

/** The flag of a decision that sends a span into a trace of which it is no activity. */
const UNDRIVEN = 32

const ACTIVITY = `CASE WHEN d.flags & ${UNDRIVEN} THEN 'no' ELSE 'yes' END AS activity`

const STATEMENTS = [
  'ALTER TABLE mergelogs ADD COLUMN told_trace BLOB',
  'ALTER TABLE mergelogs ADD COLUMN told_span INTEGER',
  'ALTER TABLE mergelogs ADD COLUMN told_ms INTEGER',
  'ALTER TABLE awaited_parents ADD COLUMN driven INTEGER NOT NULL DEFAULT 1',
]
