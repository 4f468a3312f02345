import { sql, type Kysely } from 'kysely'

/**
 * CPIDs of which it is known that they are explained, but not by all that descends from them: a turn has an end. `after` is
 * the last target that has heard of it; -1 when it does not count as explained yet itself.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE TABLE explain_later (cpid INTEGER PRIMARY KEY, after INTEGER NOT NULL) STRICT`.execute(db)
}
