import { hash } from 'node:crypto'
import type { Statement } from 'better-sqlite3'
import { foundUnder, type KnownObject, type KnownVersion } from '../../model/inference-store.ts'
import type { ContentReference, ObjectFacts, ObjectIdentity } from '../../model/kubernetes-objects.ts'
import type { KnownObjectsQuery, ExistingObject } from '../../model/kubernetes-observations.ts'
import { type Cpid, cpidBytes, cpidOfBytes } from '../../model/merge-graph.ts'
import { OnConnection } from './open-database.ts'

/** How many versions of an object are kept. A write is based on one of the last ones. */
export const KEPT_VERSIONS = 8
const MOST_HELD = 1_000
const LAST_VERSION = 2n ** 63n - 1n
/** How many objects with the same name are examined, the newest first. Several exist if their deletions were not observed. */
const MOST_NAMESAKES = 64

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

interface NameQuery {
  cluster: number
  resource: string
  namespace: string
  name: string
}

export function nameKey(resource: string, namespace: string, name: string): string {
  return `${resource} ${namespace} ${name}`
}

/** An object with its row id. */
export interface StoredObject extends KnownObject {
  readonly id: number
}

const COLUMNS = 'id, uid, api_version, resource, namespace, name, version, forgotten'

const OF_NAME = 'cluster = @cluster AND resource = @resource AND namespace = @namespace AND name = @name'
const THERE = `SELECT uid, version FROM k8s_objects INDEXED BY k8s_objects_by_name
  WHERE ${OF_NAME} AND gone_ms IS NULL ORDER BY id DESC LIMIT ${MOST_NAMESAKES}`
const GONE = `SELECT uid, version FROM k8s_objects INDEXED BY k8s_objects_gone_by_name
  WHERE ${OF_NAME} AND gone_ms IS NOT NULL ORDER BY version DESC LIMIT 1`
const NEWEST_NAMED = `SELECT uid, version FROM (${THERE}) UNION ALL SELECT uid, version FROM (${GONE})`

/** The rows of the objects of clusters and of their last versions. */
export class ObjectRows extends OnConnection {
  readonly #byUid = this.#rows<[number, string]>('cluster = ? AND uid = ?')
  readonly #byId = this.#rows<[number]>('id = ?')
  readonly uidOf = this.column<[number], string>('SELECT uid FROM k8s_objects WHERE id = ?')
  /** The uid of the newest object with this name. */
  readonly named = this.#uid(`SELECT uid FROM (${NEWEST_NAMED}) ORDER BY version DESC LIMIT 1`)
  /** The uid of the last deleted object with this name. */
  readonly lastGone = this.#uid(GONE)
  /** The names of all deleted objects, in the form of `nameKey`. */
  readonly goneNames = this.column<[number], string>(
    `SELECT resource || ' ' || namespace || ' ' || name FROM k8s_objects INDEXED BY k8s_objects_gone_by_name
       WHERE cluster = ? AND gone_ms IS NOT NULL`,
  )
  /** The ids of objects of a resource in a namespace that changed after a version, the newest change first. */
  readonly changedIn = this.column<[number, string, string, bigint, number], number>(
    `SELECT id FROM k8s_objects WHERE cluster = ? AND resource = ? AND namespace = ? AND version > ?
       ORDER BY version DESC LIMIT ?`,
  )
  readonly #there = this.#rows<[number, string, string, string]>(
    `cluster = ? AND resource = ? AND api_version = ? AND uid > ? AND gone_ms IS NULL ORDER BY uid LIMIT ${MOST_HELD}`,
  )
  readonly #insert = this.db.prepare(
    `INSERT INTO k8s_objects (cluster, uid, api_version, resource, namespace, name, version, forgotten, gone_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, -1, ?)`,
  )
  readonly #update = this.db.prepare('UPDATE k8s_objects SET version = ?, forgotten = ? WHERE id = ?')
  readonly #updateGone = this.db.prepare('UPDATE k8s_objects SET gone_ms = ? WHERE id = ?')
  readonly #versions = this.exactRows<[number], VersionRow>(
    'SELECT version, cpid, gone, facts, includes, readable_ns, content_version, begun, certain FROM k8s_versions WHERE object = ? ORDER BY version DESC',
  )
  readonly #addVersion = this.db.prepare(
    `INSERT OR REPLACE INTO k8s_versions (object, version, cpid, gone, facts, includes, readable_ns, content_version, begun,
         certain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  readonly #dropVersions = this.db.prepare('DELETE FROM k8s_versions WHERE object = ? AND version <= ?')
  readonly #remove = this.db.prepare('DELETE FROM k8s_objects WHERE id = ?')

  #uid(sql: string): Statement<[NameQuery], string> {
    return this.column<[NameQuery], string>(sql)
  }

  #rows<P extends unknown[]>(where: string): Statement<P, ObjectRow> {
    return this.exactRows<P, ObjectRow>(`SELECT ${COLUMNS} FROM k8s_objects WHERE ${where}`)
  }

  find(cluster: number, uid: string): StoredObject | undefined {
    return this.#whole(this.#byUid.get(cluster, uid))
  }

  held(cluster: number, { resource, apiVersion, after }: KnownObjectsQuery): ExistingObject[] {
    const rows = this.#there.all(cluster, resource, apiVersion, after)
    return rows.map((row) => ({ identity: identityOf(row), version: row.version }))
  }

  /** Stores a version of an object, and drops the oldest beyond the limit. Returns the object as it is stored now. `nowMs` is up time. */
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
    if (known !== undefined) {
      this.#update.run(newest.version, forgotten, id)
      // Updated only if needed, since the column is indexed: most objects exist before and after.
      if (newest.gone || known.versions[0]?.gone === true) this.#updateGone.run(goneMs, id)
    }
    const { cpid, gone, facts, includes, readable_ns, content_version, begun, certain } =
      versionRowOf(version)
    this.#addVersion.run(
      id,
      version.version,
      cpid,
      gone,
      facts,
      includes,
      readable_ns,
      content_version,
      begun,
      certain,
    )
    if (left !== undefined) this.#dropVersions.run(id, left)
    return { id, identity: known?.identity ?? identity, versions, forgotten }
  }

  #add(
    cluster: number,
    { uid, apiVersion, resource, namespace, name }: ObjectIdentity,
    version: bigint,
    goneMs: number | null,
  ): number {
    const named = [cluster, uid, apiVersion, resource, namespace, name]
    return Number(this.#insert.run(...named, version, goneMs).lastInsertRowid)
  }

  /** Removes an object. Returns it as it was stored, if it was. */
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

const CPID_BYTES = 16

interface VersionRow {
  version: bigint
  cpid: Buffer | null
  gone: bigint
  facts: string
  includes: Buffer
  readable_ns: bigint | null
  content_version: bigint | null
  begun: bigint
  certain: bigint
}

/** A stored version. Its facts are parsed on first use. */
class StoredVersion implements KnownVersion {
  readonly version: bigint
  readonly cpid: Cpid | undefined
  readonly gone: boolean
  readonly readableNs: bigint | undefined
  readonly contentVersion: bigint | undefined
  readonly begun: boolean
  readonly isCertain: boolean
  readonly #includes: Buffer
  #text: string | undefined
  #facts: ObjectFacts | undefined

  constructor({
    version,
    cpid,
    gone,
    facts,
    includes,
    readable_ns,
    content_version,
    begun,
    certain,
  }: VersionRow) {
    this.version = version
    this.cpid = cpid === null ? undefined : cpidOfBytes(cpid)
    this.gone = gone === 1n
    this.readableNs = readable_ns ?? undefined
    this.contentVersion = content_version ?? undefined
    this.begun = begun === 1n
    this.isCertain = certain === 1n
    this.#text = facts
    this.#includes = includes
  }

  get facts(): ObjectFacts {
    if (this.#facts === undefined) {
      this.#facts = JSON.parse(this.#text ?? '{}') as ObjectFacts
      this.#text = undefined
    }
    return this.#facts
  }

  get includes(): readonly Cpid[] {
    const cpids: Cpid[] = []
    for (let at = 0; at < this.#includes.length; at += CPID_BYTES)
      cpids.push(cpidOfBytes(this.#includes.subarray(at, at + CPID_BYTES)))
    return cpids
  }
}

/** The row of a version. */
function versionRowOf({
  version,
  cpid,
  gone,
  facts,
  includes,
  readableNs,
  contentVersion,
  begun,
  isCertain,
}: KnownVersion): VersionRow {
  return {
    version,
    cpid: cpid === undefined ? null : cpidBytes(cpid),
    gone: gone ? 1n : 0n,
    facts: JSON.stringify(facts),
    includes: Buffer.concat(includes.map(cpidBytes)),
    readable_ns: readableNs ?? null,
    content_version: contentVersion ?? null,
    begun: begun === true ? 1n : 0n,
    certain: isCertain === true ? 1n : 0n,
  }
}

/** The parts of an object's newest version by which other objects find it. */
interface Indexed {
  readonly version: bigint
  readonly facts: ObjectFacts
}

/** The owners and references in the newest version of each object, as rows. */
export class RelationRows extends OnConnection {
  readonly #addOwner = this.db.prepare(
    'INSERT OR IGNORE INTO k8s_owners (cluster, owner, resource, version, object) VALUES (?, ?, ?, ?, ?)',
  )
  readonly #dropOwner = this.db.prepare(
    'DELETE FROM k8s_owners WHERE cluster = ? AND owner = ? AND resource = ? AND version = ? AND object = ?',
  )
  /** The objects of an owner whose newest version is above a version; newest first. */
  readonly owned = this.column<[number, string, string, bigint, number], number>(
    `SELECT object FROM k8s_owners WHERE cluster = ? AND owner = ? AND resource = ? AND version > ?
       ORDER BY version DESC LIMIT ?`,
  )
  /** `owned` for any resource. */
  readonly ownedOfAny = this.column<[number, string, bigint, number], number>(
    `SELECT object FROM k8s_owners WHERE cluster = ? AND owner = ? AND version > ? AND instr(resource, ' ') = 0
       ORDER BY version DESC LIMIT ?`,
  )
  readonly #addReference = this.db.prepare(
    `INSERT OR IGNORE INTO k8s_references (cluster, resource, namespace, name, field, by_resource, object)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  readonly #dropReference = this.db.prepare(
    `DELETE FROM k8s_references WHERE cluster = ? AND resource = ? AND namespace = ? AND name = ? AND field = ?
         AND by_resource = ? AND object = ?`,
  )
  /** Objects of a resource whose content references an object in a field. */
  readonly naming = this.column<[number, string, string, string, string, string, number], number>(
    `SELECT object FROM k8s_references WHERE cluster = ? AND resource = ? AND namespace = ? AND name = ? AND field = ?
       AND by_resource = ? LIMIT ?`,
  )
  /** `naming` for any resource. */
  readonly namingOfAny = this.column<[number, string, string, string, string, number], number>(
    `SELECT object FROM k8s_references WHERE cluster = ? AND resource = ? AND namespace = ? AND name = ? AND field = ?
       LIMIT ?`,
  )

  /** Indexes an object by its newest version in place of the previous one. Only sought references are stored. */
  replace(
    cluster: number,
    { id, resource }: { id: number; resource: string },
    before: Indexed | undefined,
    after: Indexed | undefined,
    isSought: (field: string) => boolean,
  ): void {
    const run = (statement: Statement, { version, facts }: Indexed): void => {
      for (const { uid } of facts.owners) statement.run(cluster, uid, resource, version, id)
      for (const { uid, as } of facts.foundBy ?? [])
        statement.run(cluster, uid, foundUnder(resource, as), version, id)
    }
    if (before !== undefined) run(this.#dropOwner, before)
    if (after !== undefined) run(this.#addOwner, after)
    const named = (indexed: Indexed | undefined): ContentReference[] =>
      indexed?.facts.references.filter(({ field }) => isSought(field)) ?? []
    const [namedBefore, namedAfter] = [named(before), named(after)]
    if (areSame(namedBefore, namedAfter)) return
    for (const one of namedBefore)
      this.#dropReference.run(cluster, one.resource, one.namespace, one.name, one.field, resource, id)
    for (const one of namedAfter)
      this.#addReference.run(cluster, one.resource, one.namespace, one.name, one.field, resource, id)
  }
}

function areSame(some: readonly ContentReference[], others: readonly ContentReference[]): boolean {
  const isSame = (one: ContentReference, other: ContentReference | undefined): boolean =>
    one.name === other?.name &&
    one.namespace === other.namespace &&
    one.resource === other.resource &&
    one.field === other.field
  return some.length === others.length && some.every((one, at) => isSame(one, others[at]))
}

/** The most requests without a version that are remembered, in all clusters: the newest. */
const MOST_TOLD = 100_000

/** The most primary resources of a controller, and controllers of a resource; bounded since names come from outside. */
export const MOST_PRIMARIES = 8
/** The most kinds of an API group. */
export const MOST_KINDS = 32
/** Stored in place of a controller, followed by an API group. Service names contain no spaces. */
export const GROUP = 'kinds of '
/** The most controllers with primary resources, and the most API groups with kinds; each limited on its own. */
const MOST_LOOKING = 1_000

/** Rows of the last acts of controllers on objects, of their primary resources, and of reported requests. */
export class ActorRows extends OnConnection {
  readonly last = this.column<[number, string, string], bigint>(
    'SELECT version FROM k8s_acted WHERE cluster = ? AND uid = ? AND actor = ?',
  ).safeIntegers()
  readonly note = this.db.prepare(
    `INSERT INTO k8s_acted (cluster, uid, actor, version) VALUES (?, ?, ?, ?)
         ON CONFLICT (cluster, uid, actor) DO UPDATE SET version = excluded.version`,
  )
  readonly remove = this.db.prepare('DELETE FROM k8s_acted WHERE cluster = ? AND uid = ?')
  readonly #told = this.db.prepare(
    'INSERT OR IGNORE INTO k8s_told_requests (cluster, request, told_ms) VALUES (?, ?, ?)',
  )
  readonly #dropTold = this.db.prepare('DELETE FROM k8s_told_requests WHERE id <= ?')
  readonly primaries = this.column<[number, string], string>(
    `SELECT resource FROM k8s_primaries WHERE cluster = ? AND actor = ? ORDER BY resource LIMIT ${MOST_KINDS}`,
  )
  readonly notePrimary = this.db.prepare(
    `INSERT OR IGNORE INTO k8s_primaries (cluster, actor, resource) SELECT @cluster, @by, @resource
         WHERE (SELECT count(*) FROM k8s_primaries
                WHERE cluster = @cluster AND (actor LIKE '${GROUP}%') = (@by LIKE '${GROUP}%')) < ${MOST_LOOKING}`,
  )
  readonly lookingAfter = this.column<[number, string], string>(
    `SELECT actor FROM k8s_primaries WHERE cluster = ? AND resource = ? AND actor NOT LIKE '${GROUP}%'
       ORDER BY actor LIMIT ${MOST_PRIMARIES}`,
  )
  readonly groups = this.column<[number, string], string>(
    `SELECT actor FROM k8s_primaries WHERE cluster = ? AND resource = ? AND actor LIKE '${GROUP}%'
       ORDER BY actor LIMIT ${MOST_PRIMARIES}`,
  )

  /** `nowMs` is up time. */
  isFirstReport(cluster: number, request: string, nowMs: number): boolean {
    const key = hash('sha256', request, 'buffer').subarray(0, 16)
    const { changes, lastInsertRowid } = this.#told.run(cluster, key, nowMs)
    if (changes > 0) this.#dropTold.run(Number(lastInsertRowid) - MOST_TOLD)
    return changes > 0
  }
}
