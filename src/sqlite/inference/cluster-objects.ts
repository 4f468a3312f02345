import type { ClusterObjects, KnownVersion } from '../../model/kubernetes/cluster-objects.ts'
import type { ObjectIdentity } from '../../model/kubernetes/object-facts.ts'
import { GenerationCache } from '../generation-cache.ts'
import type { Progress } from '../progress.ts'
import type { ActedRows } from './acted-rows.ts'
import type { ObjectRows, StoredObject } from './object-rows.ts'
import type { RelationRows } from './relation-rows.ts'

/** Objects that are kept in memory, twice at most: what a cascade writes, it writes again within seconds. */
const CACHED = 2_000

export interface InferenceRows {
  readonly objects: ObjectRows
  readonly relations: RelationRows
  readonly acted: ActedRows
}

/** The objects of one cluster in SQLite. */
export class SqliteClusterObjects implements ClusterObjects {
  readonly #cluster: number
  readonly #rows: InferenceRows
  readonly #sought: ReadonlySet<string>
  readonly #progress: Pick<Progress, 'activeMs'>
  readonly #cache = new GenerationCache<string, StoredObject>(CACHED)
  /** The last that was asked for and is not there: of what a write makes it is asked several times. */
  #missing: string | undefined

  /** `sought`: references by which objects are asked for. */
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
    const uid = this.#rows.objects.named(this.#cluster, resource, namespace, name)
    return uid === undefined ? undefined : this.get(uid)
  }

  lastGone(resource: string, namespace: string, name: string): StoredObject | undefined {
    const uid = this.#rows.objects.lastGone(this.#cluster, resource, namespace, name)
    return uid === undefined ? undefined : this.get(uid)
  }

  ownedBy(uid: string, resource: string, after: bigint, before: bigint, most: number): StoredObject[] {
    // Those that changed after `before` too may have a version between: few, where writes come in order.
    const ids = this.#rows.relations.owned(this.#cluster, uid, resource, after, 2 * most)
    const newest = ({ versions }: StoredObject): bigint =>
      versions.find(({ version }) => version < before)?.version ?? 0n
    return this.#all(ids)
      .filter((object) => newest(object) > after)
      .sort((one, other) => (newest(one) > newest(other) ? -1 : 1))
      .slice(0, most)
  }

  naming(field: string, resource: string, named: ObjectIdentity, most: number): StoredObject[] {
    return this.#all(this.#rows.relations.naming(this.#cluster, field, resource, named, most))
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
    this.#cache.set(identity.uid, object)
  }

  lastActed(uid: string, by: string): bigint {
    return this.#rows.acted.last(this.#cluster, uid, by)
  }

  noteActed(uid: string, by: string, version: bigint): void {
    this.#rows.acted.note(this.#cluster, uid, by, version)
  }

  isFirstTold(request: string): boolean {
    return this.#rows.acted.isFirstTold(this.#cluster, request, this.#progress.activeMs)
  }

  /** The object with this uid is removed. */
  drop(uid: string): void {
    this.#cache.delete(uid)
  }

  forget(): void {
    this.#missing = undefined
    this.#cache.clear()
  }

  #all(ids: readonly number[]): StoredObject[] {
    return ids.flatMap((id) => {
      const uid = this.#rows.objects.uidOf(id)
      return (uid === undefined ? undefined : this.get(uid)) ?? []
    })
  }
}
