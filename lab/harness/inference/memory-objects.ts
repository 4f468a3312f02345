import {
  ANY_RESOURCE,
  EVERY_GROUP,
  type ClusterObjects,
  foundUnder,
  type KnownObject,
  type KnownVersion,
} from '../../../src/model/inference-store.ts'
import type { ObjectIdentity } from '../../../src/model/kubernetes-objects.ts'

/** The objects of a cluster in memory, with the last so many versions of each; with every one unless a number is given. */
export class MemoryObjects implements ClusterObjects {
  readonly #objects = new Map<string, { identity: ObjectIdentity; versions: KnownVersion[] }>()
  readonly #names = new Map<string, string>()
  readonly #acted = new Map<string, bigint>()
  readonly #told = new Set<string>()
  readonly #primaries = new Map<string, Set<string>>()
  readonly #kinds = new Map<string, Set<string>>()

  readonly #most: number

  constructor(most = Infinity) {
    this.#most = most
  }

  get(uid: string): KnownObject | undefined {
    return this.#objects.get(uid)
  }

  named(resource: string, namespace: string, name: string): KnownObject | undefined {
    return this.#objects.get(this.#names.get(`${resource}/${namespace}/${name}`) ?? '')
  }

  lastGone(resource: string, namespace: string, name: string): KnownObject | undefined {
    return [...this.#objects.values()]
      .filter(({ identity: one, versions }) => {
        const isNamed = one.resource === resource && one.namespace === namespace && one.name === name
        return isNamed && versions[0]?.gone === true
      })
      .sort((one, other) =>
        (one.versions[0]?.version ?? 0n) > (other.versions[0]?.version ?? 0n) ? -1 : 1,
      )[0]
  }

  ownedBy(uid: string, resource: string, after: bigint, before: bigint, most: number): KnownObject[] {
    const newest = (object: KnownObject): bigint =>
      object.versions.find(({ version }) => version < before)?.version ?? 0n
    return [...this.#objects.values()]
      .filter(({ identity, versions: [last] }) => {
        const isOwned = last?.facts.owners.some((owner) => owner.uid === uid)
        if (identity.resource === resource || resource === ANY_RESOURCE) return isOwned
        return last?.facts.foundBy?.some(
          (one) => one.uid === uid && foundUnder(identity.resource, one.as) === resource,
        )
      })
      .filter((object) => newest(object) > after)
      .sort((one, other) => (newest(one) > newest(other) ? -1 : 1))
      .slice(0, most)
  }

  changedIn(resource: string, namespace: string, after: bigint, before: bigint, most: number): KnownObject[] {
    const newest = (object: KnownObject): bigint =>
      object.versions.find(({ version }) => version < before)?.version ?? 0n
    return [...this.#objects.values()]
      .filter(({ identity }) => identity.resource === resource && identity.namespace === namespace)
      .filter((object) => newest(object) > after)
      .sort((one, other) => (newest(one) > newest(other) ? -1 : 1))
      .slice(0, most)
  }

  naming(field: string, resource: string, named: ObjectIdentity, most: number): KnownObject[] {
    return [...this.#objects.values()]
      .filter(({ identity }) => resource === ANY_RESOURCE || identity.resource === resource)
      .filter(({ versions: [newest] }) =>
        newest?.facts.references.some(
          (one) =>
            one.field === field &&
            one.resource === named.resource &&
            one.namespace === named.namespace &&
            one.name === named.name,
        ),
      )
      .slice(0, most)
  }

  add(identity: ObjectIdentity, version: KnownVersion): void {
    const object = this.#objects.get(identity.uid) ?? { identity, versions: [] }
    object.versions = [version, ...object.versions.filter((one) => one.version !== version.version)]
      .sort((one, other) => (one.version > other.version ? -1 : 1))
      .slice(0, this.#most)
    this.#objects.set(identity.uid, object)
    this.#names.set(`${identity.resource}/${identity.namespace}/${identity.name}`, identity.uid)
  }

  lastActed(uid: string, by: string): bigint {
    return this.#acted.get(`${uid} ${by}`) ?? 0n
  }

  noteActed(uid: string, by: string, version: bigint): void {
    this.#acted.set(`${uid} ${by}`, version)
  }

  primariesOf(by: string): readonly string[] {
    return [...(this.#primaries.get(by) ?? [])]
  }

  kindsOf(group: string): readonly string[] {
    return [...(this.#kinds.get(group) ?? [])].sort()
  }

  noteKind(group: string, resource: string): void {
    this.#kinds.set(group, new Set([...this.kindsOf(group), resource]))
  }

  groupsOf(resource: string): readonly string[] {
    return [...this.#kinds]
      .flatMap(([group, resources]) => (group !== EVERY_GROUP && resources.has(resource) ? group : []))
      .sort()
  }

  lookingAfter(resource: string): readonly string[] {
    return [...this.#primaries].flatMap(([by, resources]) => (resources.has(resource) ? by : [])).sort()
  }

  notePrimary(by: string, resource: string): void {
    this.#primaries.set(by, new Set([...this.primariesOf(by), resource]))
  }

  isFirstReport(request: string): boolean {
    const isFirst = !this.#told.has(request)
    this.#told.add(request)
    return isFirst
  }
}
