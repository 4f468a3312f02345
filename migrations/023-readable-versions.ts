import { sql, type Kysely } from 'kysely'

/** From when on a version of an observed object can have been read. Of those that are there already nobody knows. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE k8s_versions ADD COLUMN readable_ns INTEGER`.execute(db)
}
