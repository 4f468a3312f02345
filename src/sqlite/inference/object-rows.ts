import type { Statement } from 'better-sqlite3'
import type { KnownObject, KnownVersion } from '../../model/kubernetes/cluster-objects.ts'
import type { ObjectIdentity } from '../../model/kubernetes/object-facts.ts'
import type { AskedHeld, HeldObject } from '../../model/ports/observation-port.ts'
import type { Sqlite } from '../open-database.ts'
import { rowOf, StoredVersion, type VersionRow } from './stored-facts.ts'

/** How many versions of an object are kept: what a write read is one of the last ones. */
export const KEPT_VERSIONS = 8
const MOST_HELD = 1_000
const LAST_VERSION = 2n ** 63n - 1n

interface ObjectRow {
  id: bigint
  uid: string
  api_version: string
  resource: string
  namespace: string
  name: string
  version: bigint
  forgotten: bigint
}

/** An object and the number of its row. */
export interface StoredObject extends KnownObject {
  readonly id: number
}

const COLUMNS = 'id, uid, api_version, resource, namespace, name, version, forgotten'

/** Objects of clusters and their last versions, as rows. */
export class ObjectRows {
  readonly #byUid: Statement<[number, string], ObjectRow>
  readonly #byId: Statement<[number], ObjectRow>
  readonly #uidOf: Statement<[number], string>
  readonly #named: Statement<[number, string, string, string], string>
  readonly #lastGone: Statement<[number, string, string, string], string>
  readonly #there: Statement<[number, string, string, string], ObjectRow>
  readonly #insert: Statement
  readonly #update: Statement
  readonly #versions: Statement<[number], VersionRow>
  readonly #addVersion: Statement
  readonly #dropVersions: Statement
  readonly #remove: Statement

  constructor(db: Sqlite) {
    const rows = <P extends unknown[]>(where: string): Statement<P, ObjectRow> =>
      db.prepare<P, ObjectRow>(`SELECT ${COLUMNS} FROM k8s_objects WHERE ${where}`).safeIntegers()
    this.#byUid = rows('cluster = ? AND uid = ?')
    this.#byId = rows('id = ?')
    this.#uidOf = db.prepare<[number], string>('SELECT uid FROM k8s_objects WHERE id = ?').pluck()
    const uids = (where: string): Statement<[number, string, string, string], string> =>
      db
        .prepare<[number, string, string, string], string>(
          `SELECT uid FROM k8s_objects WHERE cluster = ? AND resource = ? AND namespace = ? AND name = ? ${where}
             ORDER BY version DESC LIMIT 1`,
        )
        .pluck()
    this.#named = uids('')
    this.#lastGone = uids('AND gone_ms IS NOT NULL')
    this.#there = rows(
      `cluster = ? AND resource = ? AND api_version = ? AND uid > ? AND gone_ms IS NULL ORDER BY uid LIMIT ${MOST_HELD}`,
    )
    this.#insert = db.prepare(
      `INSERT INTO k8s_objects (cluster, uid, api_version, resource, namespace, name, version, forgotten, gone_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, -1, ?)`,
    )
    this.#update = db.prepare('UPDATE k8s_objects SET version = ?, forgotten = ?, gone_ms = ? WHERE id = ?')
    this.#versions = db
      .prepare<[number], VersionRow>(
        'SELECT version, cpid, gone, facts, includes, readable_ns FROM k8s_versions WHERE object = ? ORDER BY version DESC',
      )
      .safeIntegers()
    this.#addVersion = db.prepare(
      `INSERT OR REPLACE INTO k8s_versions (object, version, cpid, gone, facts, includes, readable_ns)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#remove = db.prepare('DELETE FROM k8s_objects WHERE id = ?')
    this.#dropVersions = db.prepare('DELETE FROM k8s_versions WHERE object = ? AND version <= ?')
  }

  find(cluster: number, uid: string): StoredObject | undefined {
    return this.#whole(this.#byUid.get(cluster, uid))
  }

  uidOf(id: number): string | undefined {
    return this.#uidOf.get(id)
  }

  /** The uid of the newest that has that name. */
  named(cluster: number, resource: string, namespace: string, name: string): string | undefined {
    return this.#named.get(cluster, resource, namespace, name)
  }

  /** The uid of the last that had that name and is gone. */
  lastGone(cluster: number, resource: string, namespace: string, name: string): string | undefined {
    return this.#lastGone.get(cluster, resource, namespace, name)
  }

  held(cluster: number, { resource, apiVersion, after }: AskedHeld): HeldObject[] {
    const rows = this.#there.all(cluster, resource, apiVersion, after)
    return rows.map((row) => ({ identity: identityOf(row), version: row.version }))
  }

  /** Keeps a version of an object, and no more than the last ones; returns what is kept now. `nowMs` is up time. */
  add(
    cluster: number,
    identity: ObjectIdentity,
    known: StoredObject | undefined,
    version: KnownVersion,
    nowMs: number,
  ): StoredObject {
    const others = known?.versions.filter((one) => one.version !== version.version) ?? []
    const all = [version, ...others].sort((one, other) => (one.version > other.version ? -1 : 1))
    const versions = all.slice(0, KEPT_VERSIONS)
    const [newest = version] = versions
    const left = all[KEPT_VERSIONS]?.version
    const forgotten = left ?? known?.forgotten ?? -1n
    const goneMs = newest.gone ? nowMs : null
    const id = known?.id ?? this.#add(cluster, identity, newest.version, goneMs)
    if (known !== undefined) this.#update.run(newest.version, forgotten, goneMs, id)
    const { cpid, gone, facts, includes, readable_ns } = rowOf(version)
    this.#addVersion.run(id, version.version, cpid, gone, facts, includes, readable_ns)
    if (left !== undefined) this.#dropVersions.run(id, left)
    return { id, identity: known?.identity ?? identity, versions, forgotten }
  }

  #add(
    cluster: number,
    { uid, apiVersion, resource, namespace, name }: ObjectIdentity,
    version: bigint,
    goneMs: number | null,
  ): number {
    const { lastInsertRowid } = this.#insert.run(
      ...[cluster, uid, apiVersion, resource, namespace, name],
      version,
      goneMs,
    )
    return Number(lastInsertRowid)
  }

  /** Removes an object; what it was, unless it is not there. */
  remove(id: number): StoredObject | undefined {
    const object = this.#whole(this.#byId.get(id))
    this.#dropVersions.run(id, LAST_VERSION)
    this.#remove.run(id)
    return object
  }

  #whole(row: ObjectRow | undefined): StoredObject | undefined {
    if (row === undefined) return undefined
    const id = Number(row.id)
    const versions = this.#versions.all(id).map((one) => new StoredVersion(one))
    return { id, identity: identityOf(row), versions, forgotten: row.forgotten }
  }
}

function identityOf({ uid, api_version, resource, namespace, name }: ObjectRow): ObjectIdentity {
  return { uid, apiVersion: api_version, resource, namespace, name }
}
