import { sql, type Kysely } from 'kysely'

/** How many versions are likely to be missing before a write that was seen from outside, and in a cascade. What was stored before says none. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  const { rows } = await sql<{
    text: string
  }>`SELECT sql AS text FROM sqlite_schema WHERE name = ${VIEW}`.execute(db)
  await sql.raw(`DROP VIEW ${VIEW}`).execute(db)
  await sql.raw((rows[0]?.text ?? '').replace(/ AS gaps(?=\s+FROM)/, ` AS gaps, ${MISSED}`)).execute(db)
}

const VIEW = 'audit_cascades'

const MISSED =
  'cast((SELECT total(y.missed) FROM trace_actors y WHERE y.trace = t.id) AS INTEGER) AS missed_versions'

const STATEMENTS = [
  'ALTER TABLE seen_writes ADD COLUMN missed INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE trace_actors ADD COLUMN missed INTEGER NOT NULL DEFAULT 0',
]
