import { sql, type Kysely } from 'kysely'

/** How much of a trace is of other clusters than its root's, so that they leave the rest of its room to that one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE traces ADD COLUMN guest_spans INTEGER NOT NULL DEFAULT 0`.execute(db)
  await sql`ALTER TABLE traces ADD COLUMN guest_bytes INTEGER NOT NULL DEFAULT 0`.execute(db)
}
