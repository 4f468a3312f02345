import { sql, type Kysely } from 'kysely'

/**
 * Observed objects are found by the namespace in which they changed. Of a version it is kept since which version its content is as it is;
 * of those that are there already nobody knows.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE k8s_versions ADD COLUMN content_version INTEGER`.execute(db)
  await sql`CREATE INDEX k8s_objects_by_change ON k8s_objects (cluster, resource, namespace, version)`.execute(
    db,
  )
}
