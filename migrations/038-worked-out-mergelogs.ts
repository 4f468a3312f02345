import { sql, type Kysely } from 'kysely'

/** Mergelogs that Causeway worked out, since the sender's own did not come. Items that are held have the signal 2 until then. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE mergelogs ADD COLUMN worked_out INTEGER NOT NULL DEFAULT 0').execute(db)
}
