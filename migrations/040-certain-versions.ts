import { sql, type Kysely } from 'kysely'

/** Whether it is certain which change gave a version of an observed object its content. It is not for versions that are stored already. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE k8s_versions ADD COLUMN certain INTEGER NOT NULL DEFAULT 0`.execute(db)
}
