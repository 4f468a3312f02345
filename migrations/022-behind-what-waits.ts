import { sql, type Kysely } from 'kysely'

/** Until when a span that misses nothing any more waits for spans that wait themselves. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE waiting ADD COLUMN behind_until_ms INTEGER').execute(db)
}
