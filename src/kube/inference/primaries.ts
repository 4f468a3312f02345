import type { ClusterObjects, KnownObject } from '../../model/inference-store.ts'
import {
  type ContentReference,
  fingerprintOf,
  isCustomResource,
  type ObjectFacts,
  type ObjectIdentity,
} from '../../model/kubernetes-objects.ts'

/** How many objects are looked at. */
const MAX_FOUND = 64
/** How far up owners are looked for. */
const MAX_OWNER_DEPTH = 4
/** Names of more parts are looked for by their first ones. */
const MAX_NAME_PARTS = 8

interface FoundPrimary {
  readonly object: KnownObject
  /** By which field, label or owner, or by its name. */
  readonly foundBy: string
}

/**
 * Of what a custom controller looks after, what names an object, what that names by its labels, and what owns its owners; of what has no
 * owner what it is called after.
 */
export function primariesNaming(
  object: ObjectIdentity,
  facts: ObjectFacts | undefined,
  by: string,
  objects: ClusterObjects,
): FoundPrimary[] {
  const primaries = objects.primariesOf(by)
  const naming = primaries
    .flatMap((resource) => objects.naming('refers to', resource, object, MAX_FOUND))
    .flatMap((primary) => found(primary, wherePrimaryNames(primary, object)))
  const named = (facts?.references ?? [])
    .filter(({ field }) => field === 'labelled')
    .flatMap(({ name, says }) =>
      primaries.flatMap((resource) => found(objects.named(resource, object.namespace, name), says)),
    )
  const above: FoundPrimary[] = []
  let owners = facts?.owners ?? []
  if (owners.length === 0) above.push(...calledAfter(object, primaries, objects))
  for (let depth = 0; depth < MAX_OWNER_DEPTH && owners.length > 0; depth++) {
    const known = owners.flatMap(({ uid }) => objects.get(uid) ?? [])
    const looked = known.filter(({ identity }) => primaries.includes(identity.resource))
    above.push(...looked.flatMap((owner) => found(owner, 'owner')))
    owners = known.flatMap(({ versions: [newest] }) => newest?.facts.owners ?? []).slice(0, MAX_OWNER_DEPTH)
  }
  const all = new Map([...above, ...named, ...naming].map((one) => [one.object.identity.uid, one]))
  return [...all.values()].slice(0, MAX_FOUND)
}

const found = (object: KnownObject | undefined, foundBy = ''): FoundPrimary[] =>
  object === undefined ? [] : [{ object, foundBy }]

/** The field by which an object names another one. */
function wherePrimaryNames(
  { versions: [newest] }: KnownObject,
  { resource, name }: ObjectIdentity,
): string | undefined {
  const isNamed = (one: ContentReference): boolean =>
    one.field === 'refers to' && one.resource === resource && one.name === name
  return newest?.facts.references.find(isNamed)?.says
}

/**
 * `shop-policy` is called after `shop`; where it is in no namespace, `team-shop-policy` after `shop` of `team`. Those with the longest name
 * alone.
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

/** None, and those that the parts before are the name of. */
function namespacesBefore(at: number, run: (from: number, length: number) => string): string[] {
  return ['', ...Array.from({ length: at }, (_, from) => run(from, at - from))]
}

/** It puts on a custom resource what holds that: whoever does looks after it. */
export function takesHold(
  { apiVersion }: ObjectIdentity,
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
): boolean {
  if (facts === undefined || before === undefined || !isCustomResource(apiVersion)) return false
  const held = fingerprintOf(facts, 'held')
  return held !== undefined && !facts.deleting && fingerprintOf(before, 'held') !== held
}

/** Whether a controller is about to let something go that it made an object for, which nobody owns: nobody else takes that away. */
export function clearsUpAfter(
  object: ObjectIdentity,
  facts: ObjectFacts | undefined,
  by: string,
  objects: ClusterObjects,
): boolean {
  if (facts === undefined || facts.owners.length > 0) return false
  return primariesNaming(object, facts, by, objects).some(({ object: { versions } }) => {
    const [newest] = versions
    return newest?.gone === false && newest.facts.deleting
  })
}
