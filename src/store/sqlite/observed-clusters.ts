import {
  ANY_RESOURCE,
  type ClusterObjects,
  EVERY_GROUP,
  type InferenceStore,
  type KnownVersion,
  type StoredObservationBatch,
} from '../../model/inference-store.ts'
import type { ObjectIdentity } from '../../model/kubernetes-objects.ts'
import type { KnownObjectsQuery, ExistingObject } from '../../model/kubernetes-observations.ts'
import type { Cached } from '../../model/store-ports.ts'
import { GenerationCache } from './generation-cache.ts'
import { TableSweep } from './housekeeping.ts'
import {
  ActorRows,
  GROUP,
  MOST_KINDS,
  MOST_PRIMARIES,
  nameKey,
  ObjectRows,
  RelationRows,
  type StoredObject,
} from './observed-objects.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { PreparedStatements } from './prepared-statements.ts'
import type { Progress } from './transactions.ts'

/** What inference stores about clusters. */
export class InferenceTables extends OnConnection implements InferenceStore, Cached {
  readonly #progress: Progress
  readonly #rows: InferenceRows
  readonly #sought: ReadonlySet<string>
  readonly #clusters = new Map<string, number>()
  readonly #objects = new Map<number, SqliteClusterObjects>()
  readonly #removal: ObservedRemoval
  readonly #findCluster = this.column<[string], number>('SELECT id FROM k8s_clusters WHERE name = ?')
  readonly #addCluster = this.db.prepare('INSERT INTO k8s_clusters (name, told_ms) VALUES (?, ?)')
  readonly #toldNow = this.db.prepare('UPDATE k8s_clusters SET told_ms = ? WHERE id = ?')
  readonly #addBatch = this.db.prepare('INSERT INTO k8s_tellings (cluster, body) VALUES (?, ?)')
  readonly #removeBatches = this.db.prepare('DELETE FROM k8s_tellings WHERE cluster = ? AND id <= ?')
  readonly #batches = this.db.prepare<[number, number], StoredObservationBatch>(
    `SELECT t.id, c.name AS cluster, t.body FROM k8s_tellings t JOIN k8s_clusters c ON c.id = t.cluster
         WHERE t.id > ? ORDER BY t.id LIMIT ?`,
  )
  readonly #move = this.db.prepare(
    `INSERT INTO k8s_streams (cluster, stream, position) VALUES (?, ?, ?)
         ON CONFLICT (cluster, stream) DO UPDATE SET position = excluded.position`,
  )
  readonly #position = this.column<[string, string], string>(
    `SELECT s.position FROM k8s_clusters c JOIN k8s_streams s ON s.cluster = c.id WHERE c.name = ? AND s.stream = ?`,
  )

  /** `sought`: the names of references by which objects are looked up. */
  constructor(db: Sqlite, progress: Progress, sought: ReadonlySet<string>) {
    super(db)
    this.#progress = progress
    this.#sought = sought
    this.#rows = {
      objects: new ObjectRows(db),
      relations: new RelationRows(db),
      acted: new ActorRows(db),
    }
    this.#removal = new ObservedRemoval(db, this.#rows)
  }

  objectsOf(cluster: string): SqliteClusterObjects {
    const id = this.#idOf(cluster)
    const known = this.#objects.get(id)
    if (known !== undefined) return known
    const objects = new SqliteClusterObjects(id, this.#rows, this.#sought, this.#progress)
    this.#objects.set(id, objects)
    return objects
  }

  addBatch(cluster: string, body: Uint8Array): number {
    return Number(this.#addBatch.run(this.#toldOf(cluster), body).lastInsertRowid)
  }

  removeBatches(cluster: string, upTo: number): void {
    this.#removeBatches.run(this.#idOf(cluster), upTo)
  }

  batches(after: number, most: number): StoredObservationBatch[] {
    return this.#batches.all(after, most)
  }

  moveTo(cluster: string, stream: string, position: string): void {
    this.#move.run(this.#toldOf(cluster), stream, position)
  }

  position(cluster: string, stream: string): string | undefined {
    return this.#position.get(cluster, stream)
  }

  held(asked: KnownObjectsQuery): ExistingObject[] {
    const id = this.#findCluster.get(asked.cluster)
    return id === undefined ? [] : this.#rows.objects.held(id, asked)
  }

  forget(): void {
    this.#clusters.clear()
    for (const objects of this.#objects.values()) objects.forget()
  }

  /** Removes a batch of data that is no longer needed. True if there is more. */
  keep(): boolean {
    return this.#removal.turn(this.#progress.activeMs, (cluster, uid) => {
      this.#objects.get(cluster)?.drop(uid)
      this.#clusters.clear()
    })
  }

  /** The id of a cluster, whose reports it notes as recent. */
  #toldOf(cluster: string): number {
    const id = this.#idOf(cluster)
    this.#toldNow.run(this.#progress.activeMs, id)
    return id
  }

  #idOf(cluster: string): number {
    const cached = this.#clusters.get(cluster)
    if (cached !== undefined) return cached
    const id =
      this.#findCluster.get(cluster) ??
      Number(this.#addCluster.run(cluster, this.#progress.activeMs).lastInsertRowid)
    this.#clusters.set(cluster, id)
    return id
  }
}

/** How many objects are cached, or up to twice as many: a cascade writes its objects again within seconds. */
const CACHED = 2_000

interface InferenceRows {
  readonly objects: ObjectRows
  readonly relations: RelationRows
  readonly acted: ActorRows
}

class SqliteClusterObjects implements ClusterObjects {
  readonly #cluster: number
  readonly #rows: InferenceRows
  readonly #sought: ReadonlySet<string>
  readonly #progress: Pick<Progress, 'activeMs'>
  readonly #cache = new GenerationCache<string, StoredObject>(CACHED)
  readonly #primaries = new GenerationCache<string, readonly string[]>(CACHED)
  readonly #kinds = new GenerationCache<string, readonly string[]>(CACHED)
  readonly #lookingAfter = new GenerationCache<string, readonly string[]>(CACHED)
  /** The names of deleted objects, and of some whose rows are gone. Nearly all new objects have a name that no other had before. */
  #goneNames: Set<string> | undefined
  /** The last object that was not found: a write looks up a new object several times. */
  #missing: string | undefined

  /** `sought`: the names of references by which objects are looked up. */
  constructor(
    cluster: number,
    rows: InferenceRows,
    sought: ReadonlySet<string>,
    progress: Pick<Progress, 'activeMs'>,
  ) {
    this.#cluster = cluster
    this.#rows = rows
    this.#sought = sought
    this.#progress = progress
  }

  get(uid: string): StoredObject | undefined {
    const cached = this.#cache.get(uid)
    if (cached !== undefined) return cached
    if (uid === this.#missing) return undefined
    const found = this.#rows.objects.find(this.#cluster, uid)
    if (found === undefined) this.#missing = uid
    else this.#cache.set(uid, found)
    return found
  }

  named(resource: string, namespace: string, name: string): StoredObject | undefined {
    const uid = this.#rows.objects.named.get({ cluster: this.#cluster, resource, namespace, name })
    return uid === undefined ? undefined : this.get(uid)
  }

  lastGone(resource: string, namespace: string, name: string): StoredObject | undefined {
    this.#goneNames ??= new Set(this.#rows.objects.goneNames.all(this.#cluster))
    if (!this.#goneNames.has(nameKey(resource, namespace, name))) return undefined
    const uid = this.#rows.objects.lastGone.get({ cluster: this.#cluster, resource, namespace, name })
    return uid === undefined ? undefined : this.get(uid)
  }

  ownedBy(uid: string, resource: string, after: bigint, before: bigint, most: number): StoredObject[] {
    // Reads twice as many: objects that changed after `before` too may have a version in between.
    const { owned, ownedOfAny } = this.#rows.relations
    const ids =
      resource === ANY_RESOURCE
        ? ownedOfAny.all(this.#cluster, uid, after, 2 * most)
        : owned.all(this.#cluster, uid, resource, after, 2 * most)
    return newestFirst(this.#all(ids), { after, before, most })
  }

  changedIn(
    resource: string,
    namespace: string,
    after: bigint,
    before: bigint,
    most: number,
  ): StoredObject[] {
    const ids = this.#rows.objects.changedIn.all(this.#cluster, resource, namespace, after, 2 * most)
    return newestFirst(this.#all(ids), { after, before, most })
  }

  naming(field: string, by: string, named: ObjectIdentity, most: number): StoredObject[] {
    const { resource, namespace, name } = named
    const { naming, namingOfAny } = this.#rows.relations
    return this.#all(
      by === ANY_RESOURCE
        ? namingOfAny.all(this.#cluster, resource, namespace, name, field, most)
        : naming.all(this.#cluster, resource, namespace, name, field, by, most),
    )
  }

  add(identity: ObjectIdentity, version: KnownVersion): void {
    const { objects, relations } = this.#rows
    const known = this.get(identity.uid)
    const object = objects.add(this.#cluster, identity, known, version, this.#progress.activeMs)
    const [before, after] = [known?.versions[0], object.versions[0]]
    if (before !== after)
      relations.replace(
        this.#cluster,
        { id: object.id, resource: object.identity.resource },
        before,
        after,
        (field) => this.#sought.has(field),
      )
    if (identity.uid === this.#missing) this.#missing = undefined
    if (after?.gone === true) this.#noteGone(object.identity)
    this.#cache.set(identity.uid, object)
  }

  lastActed(uid: string, by: string): bigint {
    return this.#rows.acted.last.get(this.#cluster, uid, by) ?? 0n
  }

  noteActed(uid: string, by: string, version: bigint): void {
    this.#rows.acted.note.run(this.#cluster, uid, by, version)
  }

  primariesOf(by: string): readonly string[] {
    return cachedOr(this.#primaries, by, () => this.#rows.acted.primaries.all(this.#cluster, by))
  }

  notePrimary(by: string, resource: string): void {
    const known = this.primariesOf(by)
    if (known.includes(resource) || known.length >= MOST_PRIMARIES) return
    if (!this.#isNoted(by, resource)) return
    this.#primaries.delete(by)
    this.#lookingAfter.delete(resource)
  }

  kindsOf(group: string): readonly string[] {
    return cachedOr(this.#kinds, group, () => this.#rows.acted.primaries.all(this.#cluster, GROUP + group))
  }

  noteKind(group: string, resource: string): void {
    const known = this.kindsOf(group)
    if (known.includes(resource) || known.length >= MOST_KINDS) return
    if (this.#isNoted(GROUP + group, resource)) this.#kinds.delete(group)
  }

  groupsOf(resource: string): readonly string[] {
    const actors = this.#rows.acted.groups.all(this.#cluster, resource)
    return actors.map((actor) => actor.slice(GROUP.length)).filter((group) => group !== EVERY_GROUP)
  }

  lookingAfter(resource: string): readonly string[] {
    return cachedOr(this.#lookingAfter, resource, () =>
      this.#rows.acted.lookingAfter.all(this.#cluster, resource),
    )
  }

  isFirstReport(request: string): boolean {
    return this.#rows.acted.isFirstReport(this.#cluster, request, this.#progress.activeMs)
  }

  /** Drops an object from the cache: its row was removed. */
  drop(uid: string): void {
    this.#cache.delete(uid)
  }

  forget(): void {
    this.#missing = undefined
    this.#goneNames = undefined
    this.#cache.clear()
    this.#primaries.clear()
    this.#lookingAfter.clear()
    this.#kinds.clear()
  }

  /** Notes it. False if it was noted before, or there is no room. */
  #isNoted(by: string, resource: string): boolean {
    return this.#rows.acted.notePrimary.run({ cluster: this.#cluster, by, resource }).changes > 0
  }

  #noteGone({ resource, namespace, name }: ObjectIdentity): void {
    this.#goneNames?.add(nameKey(resource, namespace, name))
    // Names of removed objects stay in the set, so it is read again when it gets large.
    if ((this.#goneNames?.size ?? 0) > 2 * MOST_GONE) this.#goneNames = undefined
  }

  #all(ids: readonly number[]): StoredObject[] {
    return ids.flatMap((id) => {
      const uid = this.#rows.objects.uidOf.get(id)
      return (uid === undefined ? undefined : this.get(uid)) ?? []
    })
  }
}

function cachedOr(
  cache: GenerationCache<string, readonly string[]>,
  key: string,
  find: () => readonly string[],
): readonly string[] {
  const cached = cache.get(key)
  if (cached !== undefined) return cached
  const found = find()
  cache.set(key, found)
  return found
}

/** The objects that changed between two versions, the newest change first. */
function newestFirst(
  objects: readonly StoredObject[],
  { after, before, most }: { after: bigint; before: bigint; most: number },
): StoredObject[] {
  const newest = ({ versions }: StoredObject): bigint =>
    versions.find(({ version }) => version < before)?.version ?? 0n
  return objects
    .filter((object) => newest(object) > after)
    .sort((one, other) => (newest(one) > newest(other) ? -1 : 1))
    .slice(0, most)
}

const HOUR_MS = 3_600_000
/** How long a deleted object is kept. Garbage collection follows an owner's deletion within minutes; later there are no effects. */
const GONE_KEPT_MS = HOUR_MS
/** The most deleted objects that are kept of a cluster. */
const MOST_GONE = 50_000
/** The most objects of a cluster. If no watch reports deletions, as with an audit log alone, bulk deletions leave objects behind. */
const MOST_OBJECTS = 1_000_000
/** A cluster without reports for this long, in up time, counts as no longer configured. */
const CLUSTER_KEPT_MS = 7 * 24 * HOUR_MS
/** How long requests are remembered; later no source repeats them. */
const TOLD_KEPT_MS = 24 * HOUR_MS
/** Counting objects takes longer the more there are. */
const COUNTED_EVERY_MS = 60_000
const STEP = 200
const STEP_OF_ROWS = 1_000

interface Removable {
  id: number
  cluster: number
}

const someOf = (table: string): string =>
  `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE cluster = ? LIMIT ${STEP_OF_ROWS})`
const DROP_CLUSTER = [
  ...['k8s_told_requests', 'k8s_acted', 'k8s_tellings'].map(someOf),
  'DELETE FROM k8s_primaries WHERE cluster = ?',
  'DELETE FROM k8s_streams WHERE cluster = ?',
  'DELETE FROM k8s_clusters WHERE id = ?',
]

/** Removes deleted objects, and clusters that are no longer watched, in batches. */
class ObservedRemoval {
  readonly #rows: InferenceRows
  readonly #sql: PreparedStatements
  readonly #acted: TableSweep
  #excess = 0
  #countedMs = -Infinity

  constructor(db: Sqlite, rows: InferenceRows) {
    this.#rows = rows
    this.#sql = new PreparedStatements(db)
    this.#acted = new TableSweep(db, {
      table: 'k8s_acted',
      key: ['id'],
      useless: 'NOT EXISTS (SELECT 1 FROM k8s_objects o WHERE o.cluster = a.cluster AND o.uid = a.uid)',
    })
  }

  /** Removes some objects, and calls `onRemoved` for each. True if there are more. `nowMs` is up time. */
  turn(nowMs: number, onRemoved: (cluster: number, uid: string) => void): boolean {
    const isSwept =
      this.#acted.turn(nowMs) ||
      this.#sql.run(
        `DELETE FROM k8s_told_requests WHERE id < (SELECT min(id) FROM k8s_told_requests) + ${STEP_OF_ROWS} AND told_ms < ?`,
        nowMs - TOLD_KEPT_MS,
      ) === STEP_OF_ROWS
    const goneTooMany = this.#sql.number(
      `SELECT gone_ms FROM k8s_objects WHERE gone_ms IS NOT NULL ORDER BY gone_ms DESC LIMIT 1 OFFSET ${MOST_GONE}`,
    )
    const gone = this.#objects(
      'WHERE gone_ms < ? ORDER BY gone_ms',
      Math.max(nowMs - GONE_KEPT_MS, goneTooMany ?? 0),
    )
    const left = this.#sql.number(
      'SELECT id FROM k8s_clusters WHERE told_ms < ? ORDER BY id LIMIT 1',
      nowMs - CLUSTER_KEPT_MS,
    )
    const ofLeft = left === undefined ? [] : this.#objects('WHERE cluster = ?', left)
    const tooMany = this.#countExcess(nowMs) > 0 ? this.#objects('ORDER BY id') : []
    this.#excess -= tooMany.length
    for (const { id, cluster } of [...gone, ...ofLeft, ...tooMany]) this.#remove(id, cluster, onRemoved)
    const isLeft = left !== undefined && ofLeft.length === 0
    if (isLeft && this.#removeCluster(left)) onRemoved(left, '')
    return isSwept || [gone, ofLeft, tooMany].some(({ length }) => length === STEP) || isLeft
  }

  /** How many objects there were beyond the limit when they were last counted, without those removed since for that reason. */
  #countExcess(nowMs: number): number {
    if (this.#excess > 0 || nowMs - this.#countedMs < COUNTED_EVERY_MS) return this.#excess
    this.#countedMs = nowMs
    const ids =
      this.#sql.number('SELECT max(id) - (SELECT min(id) FROM k8s_objects) + 1 FROM k8s_objects') ?? 0
    const count = ids <= MOST_OBJECTS ? ids : this.#sql.number('SELECT count(*) FROM k8s_objects')
    this.#excess = Math.max(0, (count ?? 0) - MOST_OBJECTS)
    return this.#excess
  }

  #objects(rest: string, ...values: number[]): Removable[] {
    return this.#sql.rows(`SELECT id, cluster FROM k8s_objects ${rest} LIMIT ${STEP}`, ...values)
  }

  #remove(id: number, cluster: number, onRemoved: (cluster: number, uid: string) => void): void {
    const object = this.#rows.objects.remove(id)
    if (object === undefined) return
    const { uid, resource } = object.identity
    this.#rows.relations.replace(cluster, { id, resource }, object.versions[0], undefined, () => true)
    this.#rows.acted.remove.run(cluster, uid)
    onRemoved(cluster, uid)
  }

  /** Removes a batch of a cluster's rows. True if nothing is left. */
  #removeCluster(cluster: number): boolean {
    return DROP_CLUSTER.every((statement) => this.#sql.run(statement, cluster) < STEP_OF_ROWS)
  }
}
