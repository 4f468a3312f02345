import { sql, type Kysely } from 'kysely'

/**
 * Mergelogs that Causeway worked out, since the sender's own did not come. Items that are held have the signal 2 until then. And who made
 * a change, where the sender of its mergelog tells of another's.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS = [
  'ALTER TABLE mergelogs ADD COLUMN worked_out INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE mergelogs ADD COLUMN writer TEXT',
  'CREATE INDEX mergelogs_by_writer ON mergelogs (writer) WHERE writer IS NOT NULL',
]
