import type { ClusterObjects, KnownObject, KnownVersion } from '../model/kubernetes/cluster-objects.ts'
import {
  printIn,
  type ContentReference,
  type ObjectFacts,
  type ObjectIdentity,
} from '../model/kubernetes/object-facts.ts'
import type { Write } from '../model/kubernetes/write.ts'
import type { Part } from './part-of-write.ts'
import type { Reads } from './relations.ts'

/** What is known of a write when it is asked what was read for it. */
export interface Reading {
  readonly write: Write
  readonly part: Part
  readonly by: string
  /** The version before, with what the writer knew of the object. */
  readonly before: KnownVersion | undefined
  readonly objects: ClusterObjects
  /** Only versions below that count. */
  readonly below: bigint
  /** Versions below that came too late to be read are noted here: they are news when the writer writes next. */
  readonly tooLate: Set<bigint>
}

/** How many objects of one relation are looked at. */
export const MAX_OBJECTS = 64

/** Under which name it is noted that a controller did something to what an object owns. */
export function forOwned(by: string): string {
  return `${by} for its owner`
}

export interface Candidate {
  readonly object: KnownObject
  /** What the written object says of it, where that tells its version. */
  readonly fits?: (version: KnownVersion) => boolean
}

/** The objects that a relation names, for one write. */
export function objectsOf(
  reads: Reads,
  reading: Reading,
  readOf: (uid: string) => KnownVersion | undefined,
): Candidate[] {
  const { write, before, objects, by, below } = reading
  const newest = (object: KnownObject): KnownVersion | undefined => newestRead(object, reading)
  const changedAfter = (object: KnownObject, after: bigint): boolean =>
    (newest(object)?.version ?? 0n) > after
  const { uid, namespace, resource, name } = write.object
  const facts = write.facts ?? before?.facts
  const since = (of: string, as = by): bigint => objects.lastActed(of, as)
  const ownedAfter = (owner: string, of: string, after: bigint): KnownObject[] =>
    objects
      .ownedBy(owner, of, after, below, MAX_OBJECTS)
      .filter((object) => object.identity.uid !== uid && changedAfter(object, after))
  const othersOfOwners = (after: (owner: string) => bigint): KnownObject[] =>
    (facts?.owners ?? []).flatMap((owner) => ownedAfter(owner.uid, resource, after(owner.uid)))
  switch (reads.kind) {
    case 'owner':
      return (facts?.owners ?? []).flatMap((owner) => candidate(objects.get(owner.uid)))
    case 'dependents': {
      const changed = ownedAfter(uid, reads.resource, since(uid))
      // What changed while it wrote last, it may have read only now.
      const latest = changed.length > 0 ? changed : objects.ownedBy(uid, reads.resource, 0n, below, 1)
      return latest.map((object) => ({ object }))
    }
    case 'leaving':
      // Several that go at once are made anew at once, before their owner counts them again.
      return othersOfOwners((owner) => lower(since(owner, forOwned(by)), readOf(owner)?.version))
        .filter((object) => isGoing(newest(object)))
        .map((object) => ({ object }))
    case 'fellows':
      return othersOfOwners(() => since(uid))
        .filter((object) => isInUse(newest(object)))
        .map((object) => ({ object }))
    case 'predecessor':
      return candidate(objects.lastGone(resource, namespace, name)).filter(({ object }) => {
        const [last] = object.versions
        const isOf = (owner: string): boolean => last?.facts.owners.some((one) => one.uid === owner) ?? false
        return facts?.owners.some(
          ({ uid: owner }) => isOf(owner) && isMissed(newest(object), objects.get(owner), readOf(owner)),
        )
      })
    case 'named':
      return (facts?.references ?? [])
        .filter(({ field }) => field === reads.field)
        .flatMap((reference) => {
          const named = candidate(objectOf(reference, namespace, objects))
          return isNamedIn(before?.facts, reference)
            ? named.filter(({ object }) => changedAfter(object, since(uid)))
            : named
        })
    case 'ended':
      return (facts?.references ?? [])
        .filter(({ field }) => field === reads.field)
        .flatMap((one) => candidate(objects.lastGone(one.resource, one.namespace, one.name)))
        .filter(({ object }) => wentAfter(newest(object), before))
    case 'entries':
      return changedEntries(reads.field, facts, before?.facts).flatMap(({ reference, says }) =>
        candidate(objectOf(reference, namespace, objects)).map(({ object }) => ({
          object,
          fits: (version) => (version.gone ? '' : printIn(version.facts, reads.print)) === says,
        })),
      )
    case 'naming':
      return objects
        .naming(
          reads.field,
          reads.resource,
          reads.isSeries ? seriesOf(write.object) : write.object,
          MAX_OBJECTS,
        )
        .map((object) => ({ object }))
    case 'namespace':
      return candidate(objects.named('namespaces', '', namespace))
  }
}

function lower(one: bigint, other = one): bigint {
  return one < other ? one : other
}

/** Entries that a list has now and had not, or had and has not; `says` is empty for those. */
function changedEntries(
  field: string,
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
): { reference: ContentReference; says: string }[] {
  const entriesOf = (of: ObjectFacts | undefined): Map<string, ContentReference> =>
    new Map(of?.references.filter((one) => one.field === field).map((one) => [one.uid ?? one.name, one]))
  const [now, then] = [entriesOf(facts), entriesOf(before)]
  const fresh = [...now].flatMap(([key, reference]) =>
    reference.says === then.get(key)?.says ? [] : [{ reference, says: reference.says ?? '' }],
  )
  const left = [...then].flatMap(([key, reference]) => (now.has(key) ? [] : [{ reference, says: '' }]))
  return [...fresh, ...left].slice(0, MAX_OBJECTS)
}

function objectOf(
  { uid, resource, namespace, name }: ContentReference,
  ofWrite: string,
  objects: ClusterObjects,
): KnownObject | undefined {
  const known = uid === undefined ? undefined : objects.get(uid)
  return known ?? objects.named(resource, namespace, name) ?? objects.named(resource, ofWrite, name)
}

function candidate(object: KnownObject | undefined): Candidate[] {
  return object === undefined ? [] : [{ object }]
}

function seriesOf(object: ObjectIdentity): ObjectIdentity {
  return { ...object, name: object.name.replace(/-\d+$/, '') }
}

function isNamedIn(
  facts: ObjectFacts | undefined,
  { field, resource, namespace, name }: ContentReference,
): boolean {
  const isSame = (one: ContentReference): boolean =>
    one.field === field && one.resource === resource && one.namespace === namespace && one.name === name
  return facts?.references.some(isSame) === true
}

/** An object went since its owner's author last wrote: it was wanted still, whatever status the owner got meanwhile. */
function isMissed(
  end: KnownVersion | undefined,
  owner: KnownObject | undefined,
  read: KnownVersion | undefined,
): boolean {
  if (end?.gone !== true) return false
  const then = owner && newestBelow(owner, end.version)
  return end.version > (read?.version ?? 0n) || then?.facts.generation === read?.facts.generation
}

/** An object went, and later than a version of another was made. */
function wentAfter(end: KnownVersion | undefined, known: KnownVersion | undefined): boolean {
  return end?.gone === true && end.version > (known?.version ?? 0n)
}

/** Something of it is there or wanted. */
function isInUse(version: KnownVersion | undefined): boolean {
  if (version === undefined || version.gone) return false
  return ['size', 'replicas'].some((print) => (printIn(version.facts, print) ?? '0') !== '0')
}

function isGoing(version: KnownVersion | undefined): boolean {
  return version !== undefined && (version.gone || version.facts.deleting)
}

/** Of another object than the one that is written, the newest version that can have been read. */
export function newestRead({ versions }: KnownObject, reading: Reading): KnownVersion | undefined {
  return versions.find((known) => mayHaveRead(known, reading))
}

/**
 * It was there when the request began, as far as anybody tells; without that, it is enough that it came before the write. A version below
 * that was asked for after the request had ended shows that the two API servers' clocks differ, and nothing else.
 */
export function mayHaveRead({ version, readableNs = 0n }: KnownVersion, reading: Reading): boolean {
  const { request } = reading.write
  if (version >= reading.below) return false
  if (request === undefined || readableNs <= request.startNs || readableNs > request.endNs) return true
  reading.tooLate.add(version)
  return false
}

export function newestBelow({ versions }: KnownObject, below: bigint): KnownVersion | undefined {
  return versions.find(({ version }) => version < below)
}
