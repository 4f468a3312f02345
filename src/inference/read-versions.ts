import {
  printIn,
  type ContentReference,
  type ObjectFacts,
  type ObjectIdentity,
} from '../model/kubernetes/object-facts.ts'
import type { Write } from '../model/kubernetes/write.ts'
import type { ClusterObjects, KnownObject, KnownVersion } from '../model/kubernetes/cluster-objects.ts'
import { relationsOf, type Reads, type Relation } from './relations.ts'
import type { Part } from './part-of-write.ts'

/** A version of an object that a writer is taken to have read. */
export interface ReadVersion {
  readonly identity: ObjectIdentity
  readonly known: KnownVersion
  /** The request names it, or the content can come from no other; else it is the newest below the write. */
  readonly exact: boolean
}

export interface Reading {
  readonly write: Write
  readonly part: Part
  readonly by: string
  /** The version before, with what the writer knew of the object. */
  readonly before: KnownVersion | undefined
  readonly objects: ClusterObjects
  /** Only versions below that count. */
  readonly below: bigint
}

/** How many objects of one relation are looked at. */
const MAX_OBJECTS = 64

/** What a controller read for a write: the version before, and what the relations name. */
export function readVersions(reading: Reading, table: readonly Relation[]): ReadVersion[] {
  const { write, part, by } = reading
  const found = new Map<string, ReadVersion>()
  const add = (read: ReadVersion | undefined): void => {
    if (read !== undefined && !found.has(read.identity.uid)) found.set(read.identity.uid, read)
  }
  add(versionBefore(reading))
  for (const relation of relationsOf(table, { resource: write.object.resource, part, by })) {
    for (const object of objectsOf(relation.reads, reading)) add(versionOf(object, relation, reading))
  }
  return [...found.values()]
}

/** A PUT says which version it read, a deletion may; any other request read the newest. */
function versionBefore({ write, before, objects, below }: Reading): ReadVersion | undefined {
  const named = write.request?.readVersion
  const object = objects.get(write.object.uid)
  if (object === undefined || before === undefined) return undefined
  const known = object.versions.find(({ version }) => version === named)
  if (known !== undefined) return { identity: object.identity, known, exact: true }
  const newest = newestBelow(object, below)
  return newest && { identity: object.identity, known: newest, exact: false }
}

interface Candidate {
  readonly object: KnownObject
  /** What the written object says of it, where that tells its version. */
  readonly fits?: (version: KnownVersion) => boolean
}

function objectsOf(reads: Reads, reading: Reading): Candidate[] {
  const { write, before, objects, by, below } = reading
  const { uid, namespace, resource } = write.object
  const facts = write.facts ?? before?.facts
  const since = (of: string): bigint => objects.lastActed(of, by)
  switch (reads.kind) {
    case 'owner':
      return (facts?.owners ?? []).flatMap((owner) => candidate(objects.get(owner.uid)))
    case 'dependents': {
      const changed = objects.ownedBy(uid, reads.resource, since(uid), below, MAX_OBJECTS)
      // What changed while it wrote last, it may have read only now.
      const latest = changed.length > 0 ? changed : objects.ownedBy(uid, reads.resource, 0n, below, 1)
      return latest.map((object) => ({ object }))
    }
    case 'siblings':
      return (facts?.owners ?? [])
        .flatMap((owner) => objects.ownedBy(owner.uid, resource, since(owner.uid), below, MAX_OBJECTS))
        .filter((object) => isGoing(newestBelow(object, below)))
        .map((object) => ({ object }))
    case 'named':
      return (facts?.references ?? [])
        .filter(({ field }) => field === reads.field)
        .flatMap((reference) => candidate(objectOf(reference, namespace, objects)))
        .filter(({ object }) => before === undefined || changedSince(object, since(uid), below))
    case 'entries':
      return changedEntries(reads.field, facts, before?.facts).flatMap(({ reference, says }) =>
        candidate(objectOf(reference, namespace, objects)).map(({ object }) => ({
          object,
          fits: (version) => (version.gone ? '' : printIn(version.facts, reads.print)) === says,
        })),
      )
    case 'naming':
      return objects
        .naming(reads.field, reads.resource, write.object, MAX_OBJECTS)
        .map((object) => ({ object }))
    case 'namespace':
      return candidate(objects.named('namespaces', '', namespace))
  }
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

function versionOf(
  { object, fits }: Candidate,
  { copies }: Relation,
  { write, below }: Reading,
): ReadVersion | undefined {
  const { identity, versions } = object
  const earlier = versions.filter(({ version }) => version < below)
  const fitting = fits === undefined ? copied(copies ?? [], write, earlier) : earlier.filter(fits)
  const [newest] = earlier
  const known = fitting[0] ?? newest
  return known && { identity, known, exact: fitting.length === 1 && earlier.length > 1 }
}

/** Those whose content is what the write copies, as far as both have it; none where nothing can be compared. */
function copied(
  copies: readonly { theirs: string; ours: string }[],
  { facts }: Write,
  versions: readonly KnownVersion[],
): KnownVersion[] {
  const compared = copies.flatMap(({ theirs, ours }) => {
    const said = facts && printIn(facts, ours)
    const isThere = versions.some((version) => printIn(version.facts, theirs) === said)
    return said !== undefined && isThere ? [{ theirs, said }] : []
  })
  if (compared.length === 0) return []
  return versions.filter((version) =>
    compared.every(({ theirs, said }) => printIn(version.facts, theirs) === said),
  )
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

function changedSince(object: KnownObject, since: bigint, below: bigint): boolean {
  return (newestBelow(object, below)?.version ?? 0n) > since
}

function isGoing(version: KnownVersion | undefined): boolean {
  return version !== undefined && (version.gone || version.facts.deleting)
}

export function newestBelow({ versions }: KnownObject, below: bigint): KnownVersion | undefined {
  return versions.find(({ version }) => version < below)
}
