import { ANY_RESOURCE, type ClusterObjects, type KnownObject } from '../../model/inference-store.ts'
import {
  ANY_KIND,
  type ContentReference,
  fingerprintOf,
  isCustomResource,
  isResourceLike,
  isSelectedBy,
  type ObjectFacts,
  type ObjectIdentity,
  REFERS_BEYOND,
  resourceLike,
} from '../../model/kubernetes-objects.ts'
import { CLAIMS, mayMean, namedUnderTheirGroup } from './named-objects.ts'

const LAST = 2n ** 62n
/** The most objects that are searched. */
const MAX_FOUND = 64
/** How many levels of owners are searched. */
const MAX_OWNER_DEPTH = 4
/** The most parts of a name that are compared with other names. */
const MAX_NAME_PARTS = 8

export interface FoundPrimary {
  readonly object: KnownObject
  /** The field, label or owner by which it was found, or its name. */
  readonly foundBy: string
  /** The primary object names an owner of the object, or selects it by labels: it does not name the object itself. */
  readonly isIndirect?: true
}

/**
 * The objects that program `by` reconciles and to which an object belongs: its owners of any level, those that labels name, and those whose
 * `spec` names it, its owners or these primary objects, or selects it. An object without an owner, and what it owns, also belongs to those
 * whose name is part of its own. Custom resources that labels name under their own API group count for any program.
 */
export function primariesNaming(
  object: ObjectIdentity,
  facts: ObjectFacts | undefined,
  by: string,
  objects: ClusterObjects,
): FoundPrimary[] {
  const primaries = objects.primariesOf(by)
  const named = namedByLabelsOf(facts, primaries, objects)
  const underGroup = namedUnderTheirGroup(facts?.references ?? [], objects).filter(
    ({ object: { identity } }) => identity.uid !== object.uid,
  )
  const above: FoundPrimary[] = []
  const allOwners: ObjectIdentity[] = []
  let owners = facts?.owners ?? []
  if (owners.length === 0) above.push(...calledAfter(object, primaries, objects))
  for (let depth = 0; depth < MAX_OWNER_DEPTH && owners.length > 0; depth++) {
    const known = owners.flatMap(({ uid }) => objects.get(uid) ?? [])
    const looked = known.filter(({ identity }) => primaries.includes(identity.resource))
    above.push(...looked.flatMap((owner) => found(owner, 'owner')))
    const highest = known.filter(({ versions: [newest] }) => newest?.facts.owners.length === 0)
    for (const owner of highest.filter((one) => !looked.includes(one)))
      above.push(
        ...calledAfter(owner.identity, primaries, objects),
        ...namedByLabelsOf(owner.versions[0]?.facts, primaries, objects),
      )
    allOwners.push(...known.map(({ identity }) => identity))
    owners = known.flatMap(({ versions: [newest] }) => newest?.facts.owners ?? []).slice(0, MAX_OWNER_DEPTH)
  }
  const namingOwners = [...above.map(({ object: { identity } }) => identity), ...allOwners]
    .flatMap((owner) => naming(owner, primaries, objects))
    .map((one): FoundPrimary => ({ ...one, isIndirect: true }))
  const selecting = selectingByLabels(object, facts, primaries, objects)
  const all = [
    ...selecting,
    ...namingOwners,
    ...above,
    ...underGroup,
    ...named,
    ...naming(object, primaries, objects),
  ]
  return [...new Map(all.map((one) => [one.object.identity.uid, one])).values()].slice(0, MAX_FOUND)
}

/** Primary objects that labels and annotations name. */
function namedByLabelsOf(
  facts: ObjectFacts | undefined,
  primaries: readonly string[],
  objects: ClusterObjects,
): FoundPrimary[] {
  return (facts?.references ?? []).flatMap(({ field, resource: like, namespace, name, says }) => {
    const isKind = (resource: string): boolean => field === 'labelled' || isResourceLike(resource, like)
    if (field !== 'labelled' && field !== 'made for') return []
    return primaries
      .filter(isKind)
      .flatMap((resource) =>
        found(objects.named(resource, namespace, name) ?? objects.named(resource, '', name), says),
      )
  })
}

/** Objects of a resource that name an object in their `spec`. */
export function namedBy(object: ObjectIdentity, resource: string, objects: ClusterObjects): KnownObject[] {
  const kinds = [object.resource, resourceLike(object.resource), ANY_KIND]
  if (isCustomResource(object.apiVersion) && mayMean(CLAIMS, object.resource)) kinds.push(CLAIMS)
  const fields = object.namespace === '' ? ['refers to', REFERS_BEYOND] : ['refers to']
  const all = fields.flatMap((field) =>
    kinds.flatMap((kind) => objects.naming(field, resource, { ...object, resource: kind }, MAX_FOUND)),
  )
  return [...new Map(all.map((one) => [one.identity.uid, one])).values()]
}

/** Custom resources that name an object or its owners in their `spec`. */
export function namingWithOwners(
  object: ObjectIdentity,
  facts: ObjectFacts | undefined,
  objects: ClusterObjects,
): FoundPrimary[] {
  const all = [object]
  let owners = facts?.owners ?? []
  for (let depth = 0; depth < MAX_OWNER_DEPTH && owners.length > 0; depth++) {
    const known = owners.flatMap(({ uid }) => objects.get(uid) ?? [])
    all.push(...known.map(({ identity }) => identity))
    owners = known.flatMap(({ versions: [newest] }) => newest?.facts.owners ?? []).slice(0, MAX_OWNER_DEPTH)
  }
  return all.flatMap((one) =>
    namedBy(one, ANY_RESOURCE, objects)
      .filter(({ identity }) => isCustomResource(identity.apiVersion) && identity.uid !== object.uid)
      .flatMap((naming) => found(naming, wherePrimaryNames(naming, one))),
  )
}

/** Primary objects that name an object in their `spec`. */
function naming(
  object: ObjectIdentity,
  primaries: readonly string[],
  objects: ClusterObjects,
): FoundPrimary[] {
  return primaries
    .flatMap((resource) => namedBy(object, resource, objects))
    .flatMap((primary) => found(primary, wherePrimaryNames(primary, object)))
}

/** Primary objects of the same namespace whose `spec` selects an object by its labels. */
function selectingByLabels(
  { uid, namespace }: ObjectIdentity,
  facts: ObjectFacts | undefined,
  primaries: readonly string[],
  objects: ClusterObjects,
): FoundPrimary[] {
  const labels = facts?.labels
  if (labels === undefined) return []
  return primaries
    .flatMap((resource) => objects.changedIn(resource, namespace, 0n, LAST, MAX_FOUND))
    .filter(({ identity, versions: [newest] }) => identity.uid !== uid && selects(newest?.facts, labels))
    .map((object) => ({ object, foundBy: 'selector', isIndirect: true }))
}

/** Whether an object selects others that have these labels. */
function selects(facts: ObjectFacts | undefined, labels: Readonly<Record<string, string>>): boolean {
  return facts?.selects?.some((selector) => isSelectedBy(labels, selector)) === true
}

const found = (object: KnownObject | undefined, foundBy = ''): FoundPrimary[] =>
  object === undefined ? [] : [{ object, foundBy }]

/** The field by which one object names another. */
function wherePrimaryNames(
  { versions: [newest] }: KnownObject,
  { resource, name }: ObjectIdentity,
): string | undefined {
  const isNamed = (one: ContentReference): boolean =>
    one.field === 'refers to' && mayMean(one.resource, resource) && one.name === name
  return newest?.facts.references.find(isNamed)?.says
}

/**
 * `shop-policy` is named after `shop`; a cluster-scoped `team-shop-policy` also after `shop` in the namespace `team`. Only the matches with
 * the longest name count.
 */
function calledAfter(
  { namespace, name }: ObjectIdentity,
  primaries: readonly string[],
  objects: ClusterObjects,
): FoundPrimary[] {
  const parts = name.split(/([-.])/).slice(0, 2 * MAX_NAME_PARTS - 1)
  const count = (parts.length + 1) / 2
  const run = (from: number, length: number): string =>
    parts.slice(2 * from, 2 * (from + length) - 1).join('')
  for (let length = count; length > 0; length--)
    for (let from = 0; from + length <= count; from++) {
      const places = namespace === '' ? namespacesBefore(from, run) : [namespace]
      const called = places.flatMap((place) =>
        primaries.flatMap((resource) => found(objects.named(resource, place, run(from, length)), 'name')),
      )
      if (called.length > 0) return called
    }
  return []
}

/** The empty namespace, and those that the name parts before a position can spell. */
function namespacesBefore(at: number, run: (from: number, length: number) => string): string[] {
  return ['', ...Array.from({ length: at }, (_, from) => run(from, at - from))]
}

/** Whether a write changes the finalizers of a custom resource that is not being deleted: its writer reconciles that resource. */
export function takesHold(
  { apiVersion }: ObjectIdentity,
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
): boolean {
  if (facts === undefined || before === undefined || !isCustomResource(apiVersion)) return false
  const held = fingerprintOf(facts, 'held')
  return held !== undefined && !facts.deleting && fingerprintOf(before, 'held') !== held
}

/** Whether a primary object for which `by` made an ownerless object is being deleted: then nothing but `by` deletes that object. */
export function clearsUpAfter(
  object: ObjectIdentity,
  facts: ObjectFacts | undefined,
  by: string,
  objects: ClusterObjects,
): boolean {
  if (facts === undefined || facts.owners.length > 0) return false
  return primariesNaming(object, facts, by, objects).some(({ object: { versions }, isIndirect }) => {
    const [newest] = versions
    return isIndirect !== true && newest?.gone === false && newest.facts.deleting
  })
}
