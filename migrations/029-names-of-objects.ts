import { sql, type Kysely } from 'kysely'

/** An object that changes keeps its place in the index of names; those that are gone, which are few, have one of their own. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS = [
  'DROP INDEX k8s_objects_by_name',
  'CREATE INDEX k8s_objects_by_name ON k8s_objects (cluster, resource, namespace, name) WHERE gone_ms IS NULL',
  `CREATE INDEX k8s_objects_gone_by_name ON k8s_objects (cluster, resource, namespace, name, version)
     WHERE gone_ms IS NOT NULL`,
]
