import { sql, type Kysely } from 'kysely'

/**
 * Observed objects are found by the namespace in which they changed. Of a version it is kept since which version its content is as it is, and whether an operator's
 * change begins with it;
 * of those that are there already nobody knows. And which kinds of objects a controller looks after: it writes their status, or owns what it
 * makes for them.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`ALTER TABLE k8s_versions ADD COLUMN content_version INTEGER`.execute(db)
  await sql`ALTER TABLE k8s_versions ADD COLUMN begun INTEGER NOT NULL DEFAULT 0`.execute(db)
  await sql`CREATE INDEX k8s_objects_by_change ON k8s_objects (cluster, resource, namespace, version)`.execute(
    db,
  )
  await sql`CREATE TABLE k8s_primaries (
    cluster INTEGER NOT NULL, actor TEXT NOT NULL, resource TEXT NOT NULL, PRIMARY KEY (cluster, actor, resource)
  ) STRICT, WITHOUT ROWID`.execute(db)
}
