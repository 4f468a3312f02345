import { sql, type Kysely } from 'kysely'

/** What questions need beyond the primary keys: all mergelogs in the order in which the merges happened. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('CREATE INDEX mergelogs_by_time ON mergelogs (time_ns)').execute(db)
}
