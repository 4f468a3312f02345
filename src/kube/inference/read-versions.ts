import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import {
  type ContentReference,
  fingerprintOf,
  isSelectedBy,
  type ObjectFacts,
  type ObjectIdentity,
} from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { isOfOperator } from '../objects/named-references.ts'
import { type Counts, type Reads, type Relation, relationsOf } from './relations.ts'
import type { WritePart } from './write-attribution.ts'

/** A version of an object that a writer is taken to have read. */
export interface ReadVersion {
  readonly identity: ObjectIdentity
  readonly known: KnownVersion
  /** The request names it, or the content can come from no other; else it is the newest below the write. */
  readonly exact: boolean
  /** The version that it acted on, where that is an earlier one: what is wanted counts, not how far it has come. */
  readonly actedOn?: bigint | undefined
  /** It was looked at, and decided how the write was made, not that it was made. */
  readonly isPassive?: true
}

interface ReadVersions {
  readonly reads: readonly ReadVersion[]
  /** Up to which version what bears on the write was known; undefined where nothing tells. */
  readonly upTo: bigint | undefined
  /** No object is left out or added that the content does not name. */
  readonly isWhole: boolean
}

/** What a controller read for a write: the version before, and what the relations name. */
export function readVersions(reading: ReadContext, table: readonly Relation[]): ReadVersions {
  const { write, part, by, isOperator, tooLate } = reading
  const found = new Map<string, ReadVersion>()
  const add = (read: ReadVersion | undefined): void => {
    if (read !== undefined && !found.has(read.identity.uid)) found.set(read.identity.uid, read)
  }
  add(versionBefore(reading))
  const enclosing = versionAround(reading)
  if (enclosing !== undefined)
    return { reads: [...found.values(), enclosing], upTo: undefined, isWhole: false }
  let upTo: bigint | undefined
  let isWhole = true
  for (const relation of relationsOf(table, { resource: write.object.resource, part, by, isOperator })) {
    const { kind } = relation.reads
    if (!changesPrint(relation, reading)) continue
    if (!TOLD_BY_CONTENT.has(kind)) isWhole = false
    const counted = countedVersions(relation, reading)
    upTo = counted?.upTo ?? upTo
    if (counted === undefined || (counted.versions.length === 0 && !isContentNew(reading))) {
      const objects = relatedObjects(relation, reading, (uid) => found.get(uid)?.known)
      for (const object of objects) {
        const read = versionOf(object, relation, reading)
        add(read && kind === 'fellows' ? { ...read, isPassive: true } : read)
      }
    } else for (const { identity, known } of counted.versions) add({ identity, known, exact: false })
  }
  const reads = actedOnContent([...found.values()], reading)
  return { reads, upTo: lowest([upTo, ...[...tooLate].map((at) => at - 1n)]), isWhole }
}

/** What is made and changed for an owner follows from what that wants, whatever has become of it since, and of the object itself. */
function actedOnContent(
  reads: readonly ReadVersion[],
  { write, part, by, before, objects }: ReadContext,
): readonly ReadVersion[] {
  if (part === 'status' || part === 'binding' || part === 'removal') return reads
  const owners = new Set((write.facts ?? before?.facts)?.owners.map(({ uid }) => uid))
  const isNew = ({ identity: { uid }, known }: ReadVersion): boolean =>
    write.object.resource !== 'pods' ||
    (known.contentVersion ?? 0n) > objects.lastActed(uid, actorForOwner(by))
  // Pods are made and deleted until there are as many as are wanted: if that is nothing new, something has become of some.
  if (!reads.some((read) => owners.has(read.identity.uid) && isNew(read))) return reads
  const last = objects.lastActed(write.object.uid, by)
  return reads.map((read): ReadVersion => {
    const { contentVersion } = read.known
    if (owners.has(read.identity.uid)) return { ...read, actedOn: contentVersion }
    if (read.identity.uid !== write.object.uid || part === 'deletion') return read
    // What it wrote itself it only goes on from.
    const isOwn = contentVersion !== undefined && contentVersion <= last
    return isOwn ? { ...read, isPassive: true } : { ...read, actedOn: contentVersion }
  })
}

/** Its own object says something else than when it wrote that last: a status for that need not count anything new. */
function isContentNew({ write, before, by, objects }: ReadContext): boolean {
  return (before?.contentVersion ?? 0n) > objects.lastActed(write.object.uid, by)
}

/** What is read in these ways the written object names, or copies. */
const TOLD_BY_CONTENT: ReadonlySet<Reads['kind']> = new Set([
  ...(['owner', 'leaving', 'predecessor', 'named', 'ended', 'entries', 'naming', 'namespace'] as const),
  ...(['departed', 'quota', 'former owner'] as const),
])

/** The version that the API server was about to make when it wrote this one on the way. */
function versionAround({ write: { within }, objects }: ReadContext): ReadVersion | undefined {
  const object = within && objects.get(within.uid)
  const known = object?.versions.find(({ version }) => version === within?.version)
  return object && known && { identity: object.identity, known, exact: false }
}

function changesPrint({ changes }: Relation, { write: { facts }, before }: ReadContext): boolean {
  if (changes === undefined) return true
  if (facts === undefined || before === undefined) return false
  return fingerprintOf(facts, changes) !== fingerprintOf(before.facts, changes)
}

function lowest(all: readonly (bigint | undefined)[]): bigint | undefined {
  const known = all.filter((one) => one !== undefined)
  return known.reduce<bigint | undefined>(
    (least, one) => (least === undefined || one < least ? one : least),
    undefined,
  )
}

/** A PUT says which version it read, a deletion may; any other request read the newest. */
function versionBefore({ write, before, objects, below }: ReadContext): ReadVersion | undefined {
  const named = write.request?.readVersion
  const object = objects.get(write.object.uid)
  if (object === undefined || before === undefined) return undefined
  const isOfRequest = write.request !== undefined && before.readableNs === write.request.startNs
  const known = isOfRequest ? undefined : object.versions.find(({ version }) => version === named)
  if (known !== undefined) return { identity: object.identity, known, exact: true }
  const newest = newestBelow(object, below)
  return newest && { identity: object.identity, known: newest, exact: false }
}

function versionOf(
  { object, fits }: RelatedObject,
  { copies, alive, reads, content }: Relation,
  reading: ReadContext,
): ReadVersion | undefined {
  const { write, below } = reading
  const { identity, versions } = object
  if (content === true) {
    const known = newestContent(object, reading)
    return known && { identity, known, exact: false }
  }
  const isOwner = reads.kind === 'owner'
  const earlier = versions.filter(({ version, gone }) => version < below && !(alive === true && gone))
  const fitting = fits === undefined ? copied(copies ?? [], write, earlier) : earlier.filter(fits)
  const shown = isOwner ? shownLater(versions, earlier, copies ?? [], reading) : undefined
  if (shown !== undefined) return { identity, known: shown, exact: false }
  const known = newestOf(fitting, reading) ?? earlier.find((one) => mayHaveRead(one, reading))
  return known && { identity, known, exact: fitting.length === 1 && earlier.length > 1 }
}

/**
 * An owner was there, and as it was copied, before what was made for it, though a list showed it only as it was later; and wanted fewer
 * before one of them went. None where an earlier version may have been what was read: more of what was copied stands in none.
 */
function shownLater(
  versions: readonly KnownVersion[],
  earlier: readonly KnownVersion[],
  copies: NonNullable<Relation['copies']>,
  { write: { facts, request }, part }: ReadContext,
): KnownVersion | undefined {
  const equal = (version: KnownVersion): number =>
    copies.filter(({ theirs, ours }) => {
      const said = facts && fingerprintOf(facts, ours)
      return said !== undefined && fingerprintOf(version.facts, theirs) === said
    }).length
  const most = (some: readonly KnownVersion[]): number => Math.max(-1, ...some.map(equal))
  const later = versions.filter((one) => !one.gone && !earlier.includes(one))
  const [newest] = earlier
  if (part === 'deletion')
    return request || !newest
      ? undefined
      : later.findLast((one) => wantsFewerReplicas(one.facts, newest.facts))
  const asMuch = most(later)
  return asMuch > most(earlier) ? later.findLast((one) => equal(one) === asMuch) : undefined
}

/** Among those that were there when the request began, where there are such. */
function newestOf(versions: readonly KnownVersion[], reading: ReadContext): KnownVersion | undefined {
  return versions.find((known) => mayHaveRead(known, reading)) ?? versions[0]
}

/** Those whose content is what the write copies, as far as both have it; none where nothing can be compared. */
function copied(
  copies: readonly { theirs: string; ours: string }[],
  { facts }: ClusterWrite,
  versions: readonly KnownVersion[],
): KnownVersion[] {
  const compared = copies.flatMap(({ theirs, ours }) => {
    const said = facts && fingerprintOf(facts, ours)
    const isThere = versions.some((version) => fingerprintOf(version.facts, theirs) === said)
    return said !== undefined && isThere ? [{ theirs, said }] : []
  })
  if (compared.length === 0) return []
  return versions.filter((version) =>
    compared.every(({ theirs, said }) => fingerprintOf(version.facts, theirs) === said),
  )
}

/** What is known of a write when it is asked what was read for it. */
interface ReadContext {
  readonly write: ClusterWrite
  readonly part: WritePart
  readonly by: string
  /** The writer is a controller, and none of Kubernetes itself. */
  readonly isOperator: boolean
  /** The version before, with what the writer knew of the object. */
  readonly before: KnownVersion | undefined
  readonly objects: ClusterObjects
  /** Only versions below that count. */
  readonly below: bigint
  /** Versions below that came too late to be read are noted here: they are news when the writer writes next. */
  readonly tooLate: Set<bigint>
}

/** How many objects of one relation are looked at. */
const MAX_OBJECTS = 64

/** Under which name it is noted that a controller did something to what an object owns. */
export function actorForOwner(by: string): string {
  return `${by} for its owner`
}

interface RelatedObject {
  readonly object: KnownObject
  /** What the written object says of it, where that tells its version. */
  readonly fits?: (version: KnownVersion) => boolean
}

/** The objects that a relation names, for one write. */
function relatedObjects(
  { reads, content }: Pick<Relation, 'reads' | 'content'>,
  reading: ReadContext,
  readOf: (uid: string) => KnownVersion | undefined,
): RelatedObject[] {
  const { write, before, objects, by, below } = reading
  const newest = (object: KnownObject): KnownVersion | undefined =>
    content === true ? newestContent(object, reading) : newestRead(object, reading)
  const changedAfter = (object: KnownObject, after: bigint): boolean =>
    (newest(object)?.version ?? 0n) > after
  const { uid, namespace, resource, name } = write.object
  const facts = write.facts ?? before?.facts
  const since = (of: string, as = by): bigint => objects.lastActed(of, as)
  const ownedAfter = (owner: string, of: string, after: bigint): KnownObject[] =>
    objects
      .ownedBy(owner, of, after, below, MAX_OBJECTS)
      .filter((object) => object.identity.uid !== uid && changedAfter(object, after))
  const changedIn = (of: string, within: string, after = since(uid)): KnownObject[] =>
    objects
      .changedIn(of, within, after, below, MAX_OBJECTS)
      .filter((object) => object.identity.uid !== uid && changedAfter(object, after))
  /** Since when it has done nothing for an owner, or since the version of it that it read, if that is longer ago. */
  const sinceOwner = (owner: string): bigint => lower(since(owner, actorForOwner(by)), readOf(owner)?.version)
  const othersOfOwners = (after: (owner: string) => bigint): KnownObject[] =>
    (facts?.owners ?? []).flatMap((owner) => ownedAfter(owner.uid, resource, after(owner.uid)))
  /** Pods of the namespace that have no node yet, the newest first. */
  const unscheduled = (): KnownObject[] =>
    changedIn('pods', namespace, before?.contentVersion ?? 0n).filter((object) => {
      const read = newest(object)
      return read?.gone === false && fingerprintOf(read.facts, 'node') === ''
    })
  /** When it looked at what its object names; where it has never written it, what is older than its content is no news. */
  const lookedLast = (): bigint => (since(uid) === 0n ? (before?.contentVersion ?? 0n) : since(uid))
  /** Of what is no operator's only the content counts. */
  const changeOf = (object: KnownObject): bigint => {
    const read = newest(object)
    const isContent = !isOfOperator(object.identity.apiVersion) && read?.gone === false
    return (isContent ? read.contentVersion : undefined) ?? read?.version ?? 0n
  }
  /** Since when the content of something is news for a write: its owner's content, and the writer's last look. */
  const contentSince = (): bigint =>
    (facts?.owners ?? []).reduce(
      (least, owner) => higher(least, readOf(owner.uid)?.contentVersion ?? 0n),
      since(uid),
    )
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
      return othersOfOwners(sinceOwner)
        .filter((object) => isGoing(newest(object)))
        .map((object) => ({ object }))
    case 'fellows':
      return othersOfOwners(() => since(uid))
        .filter((object) => isInUse(newest(object)))
        .map((object) => ({ object }))
    case 'departed': {
      // A ReplicaSet's status counts its own.
      const owners = write.object.resource === 'pods' ? (facts?.owners ?? []).map((one) => one.uid) : [uid]
      return owners.flatMap((owner) => {
        const after = owner === uid ? since(uid) : sinceOwner(owner)
        return ownedAfter(owner, 'pods departed', after)
          .filter((object) => (newest(object)?.contentVersion ?? 0n) > after)
          .map((object) => ({ object }))
      })
    }
    case 'adopted':
      return (facts?.owners ?? []).flatMap(({ uid: owner }) => {
        const last = since(owner, actorForOwner(by))
        if (last === 0n || (readOf(owner)?.contentVersion ?? 0n) > last) return []
        return ownedAfter(owner, resource, last - 1n)
          .filter((object) => newest(object)?.version === last)
          .map((object) => ({ object }))
      })
    case 'former owner':
      return (before?.facts.owners ?? [])
        .filter((owner) => write.facts?.owners.every((one) => one.uid !== owner.uid) ?? false)
        .flatMap((owner) => candidate(objects.get(owner.uid)))
    case 'predecessor':
      return candidate(objects.lastGone(resource, namespace, name)).filter(({ object }) => {
        if (facts?.owners.length === 0) return object.versions[0]?.facts.owners.length === 0
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
          if (content === true) return named.filter(({ object }) => changedAfter(object, contentSince()))
          return isNamedIn(before?.facts, reference)
            ? named.filter(({ object }) => changedAfter(object, since(uid)))
            : named
        })
    case 'ended':
      return (facts?.references ?? [])
        .filter(({ field }) => field === reads.field)
        .flatMap((one) => candidate(objects.lastGone(one.resource, one.namespace, one.name)))
        .filter(({ object }) => wentAfter(newest(object), before))
    case 'entries': {
      const shown = (version: KnownVersion): string | undefined =>
        version.gone ? '' : fingerprintOf(version.facts, reads.print)
      return changedEntries(reads.field, facts, before?.facts).flatMap(({ reference, says }) =>
        candidate(objectOf(reference, namespace, objects)).map(({ object }) => {
          // What is listed no more though it could be has other labels.
          const read = says === '' ? newest(object) : undefined
          const isUnselected = read !== undefined && shown(read) !== ''
          const fits = (version: KnownVersion): boolean =>
            isUnselected ? version.version === read.contentVersion : shown(version) === says
          return { object, fits }
        }),
      )
    }
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
    case 'selected':
      return changedIn(reads.resource, namespace)
        .filter((object) => isSelected(object, [facts, before?.facts], below))
        .map((object) => ({ object }))
    case 'changed':
      return changedIn(reads.resource, '', higher(since(uid), before?.contentVersion ?? 0n)).map(
        (object) => ({
          object,
        }),
      )
    case 'counted':
      return (facts?.references ?? [])
        .filter(({ field }) => field === 'counted')
        .flatMap((one) => changedIn(one.resource, namespace))
        .slice(0, MAX_OBJECTS)
        .map((object) => ({ object }))
    case 'quota':
      return (facts?.owners ?? []).flatMap(({ uid: owner }) => {
        const read = readOf(owner)
        if (read === undefined || fingerprintOf(read.facts, 'refused') === '') return []
        return changedIn('resourcequotas', namespace, sinceOwner(owner)).map((object) => ({ object }))
      })
    case 'referred':
      return (facts?.references ?? [])
        .filter(({ field }) => field === 'refers to')
        .flatMap((reference) => candidate(objectOf(reference, namespace, objects)))
        .filter(({ object }) => object.identity.uid !== uid && changeOf(object) > lookedLast())
    case 'primaries':
      return primariesNaming(reading, facts)
        .filter((object) => object.identity.uid !== uid && changedAfter(object, since(uid)))
        .map((object) => ({ object }))
    case 'freed':
      return nodesOf(facts).flatMap((node) => {
        const there = objectOf(node, '', objects)
        if (there === undefined) return []
        const gone = ownedAfter(there.identity.uid, 'pods freed', since(uid))
        return gone.slice(0, 1).map((object) => ({ object }))
      })
    case 'preemptor':
      return nodesOf(facts).flatMap((node) => {
        const named = { ...node, apiVersion: 'v1', uid: '' }
        const nominated = objects
          .naming('nominated', 'pods', named, MAX_OBJECTS)
          .filter((object) => object.identity.uid !== uid)
        const [waiting] = nominated.length > 0 ? [] : unscheduled()
        return [...nominated, ...(waiting === undefined ? [] : [waiting])].map((object) => ({ object }))
      })
  }
}

/** How far up owners are looked for. */
const MAX_OWNER_DEPTH = 4

/** Of what an operator looks after, what names an object, what that names by its labels, and what owns its owners. */
function primariesNaming(
  { write: { object }, objects, by }: ReadContext,
  facts: ObjectFacts | undefined,
): KnownObject[] {
  const primaries = objects.primariesOf(by)
  const naming = primaries.flatMap((resource) => objects.naming('refers to', resource, object, MAX_OBJECTS))
  const named = (facts?.references ?? [])
    .filter(({ field }) => field === 'labelled')
    .flatMap(({ name }) =>
      primaries.flatMap((resource) => objects.named(resource, object.namespace, name) ?? []),
    )
  const above: KnownObject[] = []
  let owners = facts?.owners ?? []
  for (let depth = 0; depth < MAX_OWNER_DEPTH && owners.length > 0; depth++) {
    const known = owners.flatMap(({ uid }) => objects.get(uid) ?? [])
    above.push(...known.filter(({ identity }) => primaries.includes(identity.resource)))
    owners = known.flatMap(({ versions: [newest] }) => newest?.facts.owners ?? []).slice(0, MAX_OWNER_DEPTH)
  }
  return [...new Set([...naming, ...named, ...above])].slice(0, MAX_OBJECTS)
}

function nodesOf(facts: ObjectFacts | undefined): ContentReference[] {
  return facts?.references.filter(({ field }) => field === 'node') ?? []
}

/** Selected as it was below a version, or as it was before it changed last. */
function isSelected(
  { versions }: KnownObject,
  selecting: readonly (ObjectFacts | undefined)[],
  below: bigint,
): boolean {
  const lately = versions.filter(({ version }) => version < below).slice(0, 2)
  return selecting
    .flatMap((facts) => facts?.selects ?? [])
    .some((selector) => lately.some(({ facts: { labels = {} } }) => isSelectedBy(labels, selector)))
}

function higher(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

/** The version since which the newest that can have been read is in content as it is; of those that are kept, the nearest. */
function newestContent(object: KnownObject, reading: ReadContext): KnownVersion | undefined {
  const newest = newestRead(object, reading)
  const since = newest?.contentVersion
  if (newest === undefined || since === undefined) return newest
  return object.versions.find(({ version }) => version === since) ?? object.versions.at(-1)
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
  return (
    known ??
    objects.named(resource, namespace, name) ??
    objects.named(resource, ofWrite, name) ??
    objects.named(resource, '', name)
  )
}

function candidate(object: KnownObject | undefined): RelatedObject[] {
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
  return ['size', 'replicas'].some((print) => (fingerprintOf(version.facts, print) ?? '0') !== '0')
}

function isGoing(version: KnownVersion | undefined): boolean {
  return version !== undefined && (version.gone || version.facts.deleting)
}

/** Of another object than the one that is written, the newest version that can have been read. */
function newestRead({ versions }: KnownObject, reading: ReadContext): KnownVersion | undefined {
  return versions.find((known) => mayHaveRead(known, reading))
}

/**
 * It was there when the request began, as far as anybody tells; without that, it is enough that it came before the write. A version below
 * that was asked for after the request had ended shows that the two API servers' clocks differ, and nothing else.
 */
function mayHaveRead({ version, readableNs = 0n }: KnownVersion, reading: ReadContext): boolean {
  const { request } = reading.write
  if (version >= reading.below) return false
  if (request === undefined || readableNs <= request.startNs || readableNs > request.endNs) return true
  reading.tooLate.add(version)
  return false
}

export function newestBelow({ versions }: KnownObject, below: bigint): KnownVersion | undefined {
  return versions.find(({ version }) => version < below)
}

interface CountedObject {
  readonly identity: ObjectIdentity
  /** Below the write, newest first. */
  readonly versions: readonly KnownVersion[]
}

interface CountedVersions {
  readonly versions: readonly { readonly identity: ObjectIdentity; readonly known: KnownVersion }[]
  /** What came later was not counted. */
  readonly upTo: bigint
}

/**
 * What a status that counts others was written for: the newest state of all of them that it is the sum of, and of that those
 * versions which made them count as they do and which were not counted when the writer wrote last. Undefined where nothing is
 * counted, there are too many, or no state of them fits.
 */
function countedVersions({ reads, counts }: Relation, reading: ReadContext): CountedVersions | undefined {
  const { objects, below, by } = reading
  const { object, facts } = reading.write
  if (counts === undefined || reads.kind !== 'dependents' || facts === undefined) return undefined
  const owned = objects.ownedBy(object.uid, reads.resource, 0n, below, MAX_OBJECTS)
  if (owned.length === MAX_OBJECTS) return undefined
  const all = owned.map(({ identity, versions }) => ({
    identity,
    versions: versions.filter(({ version }) => version < below),
  }))
  const said = counts.sums.map(({ ours }) => fingerprintOf(facts, ours))
  const fits = (upTo: bigint): boolean =>
    counts.sums.every(({ theirs }, at) => String(sumOf(all, theirs, upTo)) === said[at])
  const read = all.map(({ identity, versions }) => ({
    identity,
    versions: versions.filter((known) => mayHaveRead(known, reading)),
  }))
  const upTo = momentsOf(read).find(fits) ?? momentsOf(all).find(fits)
  if (upTo === undefined) return undefined
  const since = objects.lastActed(object.uid, by)
  const versions = all.flatMap(({ identity, versions: known }) => {
    const first = firstThatCountsSo(
      known.filter(({ version }) => version <= upTo),
      counts,
    )
    return first === undefined || first.version <= since ? [] : [{ identity, known: first }]
  })
  return { versions, upTo }
}

/** After each version of each of them, the last first; and before all. */
function momentsOf(all: readonly CountedObject[]): bigint[] {
  const moments = all.flatMap(({ versions }) => versions.map(({ version }) => version))
  return [...moments.sort((one, other) => (one > other ? -1 : 1)), 0n]
}

function sumOf(all: readonly CountedObject[], print: string, upTo: bigint): number {
  return all.reduce((sum, { versions }) => {
    const known = versions.find(({ version }) => version <= upTo)
    return sum + (known === undefined || known.gone ? 0 : Number(fingerprintOf(known.facts, print) ?? 0))
  }, 0)
}

/** Going back from the newest, the last version before which it counted otherwise. */
function firstThatCountsSo(versions: readonly KnownVersion[], counts: Counts): KnownVersion | undefined {
  const [newest] = versions
  if (newest === undefined) return undefined
  const prints = [...counts.sums.map(({ theirs }) => theirs), ...(counts.also ?? [])]
  const isSame = (one: KnownVersion): boolean =>
    one.gone === newest.gone &&
    prints.every((print) => fingerprintOf(one.facts, print) === fingerprintOf(newest.facts, print))
  const other = versions.findIndex((one) => !isSame(one))
  return other < 0 ? versions.at(-1) : versions[other - 1]
}

/** Whether an owner wants fewer of what it owns than at another version of it. */
export function wantsFewerReplicas(one: ObjectFacts, other: ObjectFacts): boolean {
  const [size, before] = [fingerprintOf(one, 'size'), fingerprintOf(other, 'size')]
  return size !== undefined && before !== undefined && Number(size) < Number(before)
}
