import { sql, type Kysely } from 'kysely'

/** Of which versions of observed objects it is certain what gave them their content. Of those that are there already nobody knows. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE k8s_versions ADD COLUMN certain INTEGER NOT NULL DEFAULT 0`.execute(db)
}
