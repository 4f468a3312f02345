import { sql, type Kysely } from 'kysely'

/** What is known of clusters that are watched from outside, and what was told of them and is not decided yet. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`CREATE TABLE k8s_clusters (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, told_ms INTEGER NOT NULL) STRICT`.execute(
    db,
  )
  await sql`CREATE TABLE k8s_tellings (id INTEGER PRIMARY KEY, cluster INTEGER NOT NULL, body BLOB NOT NULL) STRICT`.execute(
    db,
  )
  await sql`CREATE TABLE k8s_streams (
    cluster INTEGER NOT NULL, stream TEXT NOT NULL, position TEXT NOT NULL, PRIMARY KEY (cluster, stream)
  ) STRICT, WITHOUT ROWID`.execute(db)
  await sql`CREATE TABLE k8s_objects (
    id INTEGER PRIMARY KEY, cluster INTEGER NOT NULL, uid TEXT NOT NULL, api_version TEXT NOT NULL, resource TEXT NOT NULL,
    namespace TEXT NOT NULL, name TEXT NOT NULL,
    version INTEGER NOT NULL, -- the newest
    forgotten INTEGER NOT NULL, -- versions up to this one are no longer kept
    gone_ms INTEGER -- when it went, in milliseconds of up time
  ) STRICT`.execute(db)
  await sql`CREATE UNIQUE INDEX k8s_objects_by_uid ON k8s_objects (cluster, uid)`.execute(db)
  await sql`CREATE INDEX k8s_objects_by_name ON k8s_objects (cluster, resource, namespace, name, version)`.execute(
    db,
  )
  await sql`CREATE INDEX k8s_objects_there ON k8s_objects (cluster, resource, api_version, uid) WHERE gone_ms IS NULL`.execute(
    db,
  )
  await sql`CREATE INDEX k8s_objects_gone ON k8s_objects (gone_ms) WHERE gone_ms IS NOT NULL`.execute(db)
  await sql`CREATE TABLE k8s_versions (
    object INTEGER NOT NULL, version INTEGER NOT NULL, cpid BLOB, gone INTEGER NOT NULL, facts TEXT NOT NULL,
    includes BLOB NOT NULL, PRIMARY KEY (object, version)
  ) STRICT, WITHOUT ROWID`.execute(db)
  await sql`CREATE TABLE k8s_owners (
    cluster INTEGER NOT NULL, owner TEXT NOT NULL, resource TEXT NOT NULL, version INTEGER NOT NULL, object INTEGER NOT NULL,
    PRIMARY KEY (cluster, owner, resource, version, object)
  ) STRICT, WITHOUT ROWID`.execute(db)
  await sql`CREATE TABLE k8s_references (
    cluster INTEGER NOT NULL, resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, field TEXT NOT NULL,
    by_resource TEXT NOT NULL, object INTEGER NOT NULL,
    PRIMARY KEY (cluster, resource, namespace, name, field, by_resource, object)
  ) STRICT, WITHOUT ROWID`.execute(db)
  await sql`CREATE TABLE k8s_acted (
    id INTEGER PRIMARY KEY, cluster INTEGER NOT NULL, uid TEXT NOT NULL, actor TEXT NOT NULL, version INTEGER NOT NULL,
    UNIQUE (cluster, uid, actor)
  ) STRICT`.execute(db)
  await sql`CREATE TABLE k8s_told_requests (
    id INTEGER PRIMARY KEY, cluster INTEGER NOT NULL, request BLOB NOT NULL, told_ms INTEGER NOT NULL,
    UNIQUE (cluster, request)
  ) STRICT`.execute(db)
}
