import type { KnownObject, KnownVersion } from '../../model/inference-store.ts'
import {
  fingerprintOf,
  isCustomResource,
  type ObjectFacts,
  type ObjectIdentity,
} from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import {
  actorForOwner,
  higher,
  MAX_OBJECTS,
  lastActedFor,
  mayHaveRead,
  newestBelow,
  newestContent,
  type ReadContext,
  type RelatedObject,
} from './read-context.ts'
import { relatedObjects } from './related-objects.ts'
import { isNewlyOwned } from './relatives.ts'
import { isObserved } from './overwritten.ts'
import { isMarkedAsEvicted } from './write-part.ts'
import { isOfKubernetes, UNKNOWN } from './writers.ts'
import type { Reads } from './reads.ts'
import { type Counts, type Relation, relationsOf } from './relations.ts'

/** A version of an object that a writer is assumed to have read. */
export interface ReadVersion {
  readonly identity: ObjectIdentity
  readonly known: KnownVersion
  /** The request names this version, or the content can come from no other. Else it is the newest below the write. */
  readonly exact: boolean
  /** The version that it acted on, if that is an earlier one: what is wanted counts, not the progress so far. */
  readonly actedOn?: bigint | undefined
  /** It was read and influenced how the write was made, but did not cause it. */
  readonly isPassive?: true
  /** The field by which one of the objects names the other, if that is how it was found: `spec.issuerRef.name`. */
  readonly foundBy?: string
}

interface ReadVersions {
  readonly reads: readonly ReadVersion[]
  /** Up to which version everything relevant to the write was known; undefined if that cannot be determined. */
  readonly upTo: bigint | undefined
  /** The content names all objects that were read: none is missing and none was added by guess. */
  readonly isWhole: boolean
}

/** What a controller read for a write: the version before, and what the relations name. */
export function readVersions(reading: ReadContext, table: readonly Relation[]): ReadVersions {
  const { write, part, by, isCustomController, isPlainController, tooLate } = reading
  const found = new Map<string, ReadVersion>()
  const add = (read: ReadVersion | undefined): void => {
    if (read !== undefined && !found.has(read.identity.uid)) found.set(read.identity.uid, read)
  }
  const addEdited = ({ identity, known }: ReadVersion): void => {
    const own = found.get(identity.uid)
    found.set(identity.uid, { ...(own ?? { identity, known, exact: false }), actedOn: known.version })
  }
  add(versionBefore(reading))
  const enclosing = versionAround(reading)
  if (enclosing !== undefined)
    return { reads: [...found.values(), enclosing], upTo: undefined, isWhole: false }
  let upTo: bigint | undefined
  let isWhole = true
  for (const relation of relationsOf(table, {
    resource: write.object.resource,
    part,
    by,
    isCustomController,
    isPlainController,
  })) {
    const { kind } = relation.reads
    if (!changesPrint(relation, reading) || !names(relation, reading)) continue
    const isLast =
      ONLY_WITHOUT_NEWS.has(kind) ||
      (kind === 'new namespace' && part === 'creation') ||
      (kind === 'leaving' && part === 'authored')
    const news = isLast
      ? [...found.values()].filter((read) => !isOfOthers(read, reading) && isNews(read, reading))
      : []
    if (news.some((read) => !IN_SPITE_OF_PROGRESS.has(kind) || !isOfOwnChange(read, reading))) continue
    if (!TOLD_BY_CONTENT.has(kind)) isWhole = false
    const counted = countedVersions(relation, reading)
    upTo = counted?.upTo ?? upTo
    const isUnchanged = counted?.versions.length === 0 && !isContentNew(reading)
    if (counted === undefined || isUnchanged) {
      const objects = relatedObjects(relation, reading, (uid) => found.get(uid)?.known)
      // A status may be written for objects that came or went before they are counted.
      const read = isUnchanged ? objects.filter(({ object }) => hasMoved(object, reading)) : objects
      for (const object of read) {
        const one = versionOf(object, relation, reading)
        const { foundBy } = object
        if (kind === 'done just before' && isOfThoseChanges(one, found.values())) continue
        if (HELD_UP.has(kind) && isOlder(one, found.values())) continue
        if (kind === 'edited' && one !== undefined) {
          addEdited(one)
          continue
        }
        add(
          one && {
            ...one,
            ...(kind === 'fellows' && !isResumedByOther(one, found, reading) && { isPassive: true }),
            ...(foundBy !== undefined && { foundBy }),
          },
        )
      }
    } else for (const { identity, known } of counted.versions) add({ identity, known, exact: false })
  }
  const reads = actedOnContent(withoutOthers([...found.values()], reading), reading)
  return { reads, upTo: lowest([upTo, ...[...tooLate].map((at) => at - 1n)]), isWhole }
}

/** A Pod that its writer deletes for something else: the writer looks after neither the Pod nor its owners. */
function isPodOfOthers({ write, part, before, objects, by }: ReadContext): boolean {
  if (part !== 'deletion' || write.object.resource !== 'pods') return false
  if (by !== UNKNOWN && isOfKubernetes(by)) return false
  const owners = (write.facts ?? before?.facts)?.owners ?? []
  const isOwn = ({ uid }: Pick<ObjectIdentity, 'uid'>): boolean =>
    objects.lastActed(uid, by) > 0n || isCustomResource(objects.get(uid)?.identity.apiVersion ?? '')
  return ![write.object, ...owners].some(isOwn)
}

/** The Pod itself or an owner of it, of a Pod that its writer does not look after. */
function isOfOthers({ identity: { uid } }: ReadVersion, reading: ReadContext): boolean {
  const { write, before } = reading
  const owners = (write.facts ?? before?.facts)?.owners ?? []
  return isPodOfOthers(reading) && [write.object, ...owners].some((one) => one.uid === uid)
}

/** Whoever deletes a Pod of others for something else does not do so for its owner, nor for what the Pod said. */
function withoutOthers(reads: readonly ReadVersion[], reading: ReadContext): readonly ReadVersion[] {
  if (isMarkedAsEvicted(reading.before?.facts) || reads.every((read) => isOfOthers(read, reading)))
    return reads
  return reads.flatMap((read): ReadVersion[] => {
    if (!isOfOthers(read, reading)) return [read]
    return read.identity.uid === reading.write.object.uid ? [{ ...read, isPassive: true }] : []
  })
}

/** What may have held the write up. */
const HELD_UP: ReadonlySet<Reads['kind']> = new Set(['admission', 'namesake'])

/** Something else that the write follows from is newer, so that this did not hold it up. */
function isOlder(one: ReadVersion | undefined, read: Iterable<ReadVersion>): boolean {
  return [...read].some(
    ({ known: { version, contentVersion = version } }) => contentVersion > (one?.known.version ?? 0n),
  )
}

/** Its change is among those of the versions that are read already. */
function isOfThoseChanges(one: ReadVersion | undefined, read: Iterable<ReadVersion>): boolean {
  const cpid = one?.known.cpid
  return (
    cpid === undefined || [...read].some(({ known }) => known.cpid === cpid || known.includes.includes(cpid))
  )
}

/**
 * A rollout that was held up, as for want of room, goes on because of another change: one of the objects made for it has become part of
 * that change. What the owner's controller does to the others then follows from that change too.
 */
function isResumedByOther(
  { identity, known }: ReadVersion,
  found: ReadonlyMap<string, ReadVersion>,
  reading: ReadContext,
): boolean {
  const { write, before, objects } = reading
  const [owner] = ((write.facts ?? before?.facts)?.owners ?? []).flatMap(({ uid }) => found.get(uid) ?? [])
  if (owner === undefined) return false
  const { template } = owner.known.facts.prints
  const both: [string, KnownVersion | undefined][] = [
    [identity.uid, known],
    [write.object.uid, before],
  ]
  const [uid = '', made] = both.find(([, one]) => one?.facts.prints.template === template) ?? []
  const first = objects.get(uid)?.versions.at(-1)
  const since = owner.known.contentVersion ?? owner.known.version
  if (made?.cpid === undefined || template === undefined) return false
  if (first?.cpid === undefined || first.version <= since || first.cpid === made.cpid) return false
  if (!wasHeldUp(uid, since, reading)) return false
  const later = [made.cpid, ...made.includes].filter(
    (one) => one !== first.cpid && !first.includes.includes(one),
  )
  return [known.cpid, ...known.includes].some((one) => one !== undefined && later.includes(one))
}

/** The API server refused Pods of an object, or some that came after that version waited for the scheduler. */
function wasHeldUp(uid: string, after: bigint, { objects, below }: ReadContext): boolean {
  const isPrinted = (object: KnownObject | undefined, print: string): boolean =>
    object?.versions.some(({ facts }) => (fingerprintOf(facts, print) ?? '') !== '') === true
  if (isPrinted(objects.get(uid), 'refused')) return true
  return objects.ownedBy(uid, 'pods', after, below, MAX_OBJECTS).some((pod) => isPrinted(pod, 'pending'))
}

/** What became of another object belongs to the change that the written one is of already. */
function isOfOwnChange(
  { identity: { uid }, known: { cpid } }: ReadVersion,
  { write, before }: ReadContext,
): boolean {
  if (uid === write.object.uid || cpid === undefined || before === undefined) return false
  return before.cpid === cpid || before.includes.includes(cpid)
}

/** Relations that are looked at only if nothing else is new. */
const ONLY_WITHOUT_NEWS: ReadonlySet<Reads['kind']> = new Set([
  'kin',
  'made for the same',
  'done just before',
  'closed node',
  'naming just before',
])

/** Relations that are looked at also if what is new only comes of the change that the written object is of already. */
const IN_SPITE_OF_PROGRESS: ReadonlySet<Reads['kind']> = new Set(['kin', 'made for the same'])

/** It changed since its reader last acted on the written object or its owner. What the reader wrote itself is no news. */
function isNews({ identity: { uid }, known }: ReadVersion, reading: ReadContext): boolean {
  const { write, before, objects, by } = reading
  const facts = write.facts ?? before?.facts
  const isOwn = uid === write.object.uid || facts?.owners.some((owner) => owner.uid === uid) === true
  const version = isOwn ? (known.contentVersion ?? 0n) : known.version
  const seen = uid === write.object.uid ? actedForPrimaries(reading) : isOwn ? 0n : objects.lastActed(uid, by)
  return version > higher(lastActedFor(reading, facts), seen)
}

/** When the writer last wrote a primary object that the object belongs to: it knew the object then. */
function actedForPrimaries({ primaries, objects, by }: ReadContext): bigint {
  return primaries()
    .filter(({ isIndirect }) => isIndirect !== true)
    .map(({ object: { identity } }) => objects.lastActed(identity.uid, by))
    .reduce(higher, 0n)
}

/** It was created, deleted, or changed in content since the writer last wrote. */
function hasMoved({ versions: [newest] }: KnownObject, { write, by, objects }: ReadContext): boolean {
  return newest !== undefined && (newest.contentVersion ?? 0n) > objects.lastActed(write.object.uid, by)
}

/**
 * What is created and changed for an owner follows from what the owner wants, whatever happened to it since. The same holds for the
 * object itself.
 */
function actedOnContent(
  reads: readonly ReadVersion[],
  { write, part, by, isCustomController, before, objects, below }: ReadContext,
): readonly ReadVersion[] {
  if (part === 'status' || part === 'binding' || part === 'removal') return reads
  const owners = new Set((write.facts ?? before?.facts)?.owners.map(({ uid }) => uid))
  const isNew = ({ identity: { uid }, known: { contentVersion = 0n } }: ReadVersion): boolean => {
    if (isCustomController && contentVersion <= objects.lastActed(uid, by)) return false
    const isAlways = write.object.resource !== 'pods' && !isCustomController
    return isAlways || contentVersion > objects.lastActed(uid, actorForOwner(by))
  }
  // Pods are created and deleted until there are as many as wanted. If the wanted number is nothing new, something happened to some Pods.
  // Custom controllers themselves record in a status what is to be done.
  if (!reads.some((read) => owners.has(read.identity.uid) && isNew(read))) return reads
  const last = objects.lastActed(write.object.uid, by)
  return reads.map((read): ReadVersion => {
    const { contentVersion } = read.known
    if (owners.has(read.identity.uid)) return { ...read, actedOn: contentVersion }
    if (read.identity.uid !== write.object.uid || part === 'deletion' || read.actedOn) return read
    // It only continues from what it wrote itself, unless it has just adopted the object.
    const object = objects.get(read.identity.uid)
    const isAdopted = object && [...owners].some((owner) => isNewlyOwned(object, owner, below))
    const isOwn = contentVersion !== undefined && contentVersion <= last && isAdopted !== true
    return isOwn ? { ...read, isPassive: true } : { ...read, actedOn: contentVersion }
  })
}

/** The content of the object is newer than the last write of its writer. A status written for that need not count anything new. */
function isContentNew({ write, before, by, objects }: ReadContext): boolean {
  if (before === undefined || isObserved(before, before)) return false
  return (before.contentVersion ?? 0n) > objects.lastActed(write.object.uid, by)
}

/** The written object names or copies what is read in these ways. */
const TOLD_BY_CONTENT: ReadonlySet<Reads['kind']> = new Set([
  ...(['owner', 'leaving', 'predecessor', 'named', 'ended', 'entries', 'naming', 'namespace'] as const),
  ...(['departed', 'admission', 'former owner', 'applied from', 'replaced', 'edited', 'namesake'] as const),
])

/** The version that the API server was about to make when it made this write while serving the same request. */
function versionAround({ write: { within }, objects }: ReadContext): ReadVersion | undefined {
  const object = within && objects.get(within.uid)
  const known = object?.versions.find(({ version }) => version === within?.version)
  return object && known && { identity: object.identity, known, exact: false }
}

function changesPrint(
  { changes, waitedFor }: Relation,
  { write: { facts, gone }, before }: ReadContext,
): boolean {
  const pending = before?.facts.prints.pending
  if (waitedFor !== undefined && (pending === '' ? 'nothing' : pending) !== waitedFor) return false
  if (changes === undefined) return true
  // The last version that is told of an object still has the finalizer with whose removal it went.
  if (gone && changes === 'held') return true
  if (facts === undefined || before === undefined) return false
  return fingerprintOf(facts, changes) !== fingerprintOf(before.facts, changes)
}

function names({ names: asked }: Relation, { write, before }: ReadContext): boolean {
  const facts = write.facts ?? before?.facts
  return asked === undefined || facts?.references.some(({ field }) => field === asked) === true
}

function lowest(all: readonly (bigint | undefined)[]): bigint | undefined {
  const known = all.filter((one) => one !== undefined)
  return known.reduce<bigint | undefined>(
    (least, one) => (least === undefined || one < least ? one : least),
    undefined,
  )
}

/** A PUT names the version that it read, and a deletion may. Any other request read the newest. */
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
  const { write, part, below } = reading
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
  const newest = earlier.find((one) => mayHaveRead(one, reading))
  const known = newestOf(fitting, reading) ?? newest
  const isKnown =
    isOwner && part === 'authored' && known !== undefined && saysNothingNew(known, object, reading)
  if (isKnown) return newest && { identity, known: newest, exact: false }
  return known && { identity, known, exact: fitting.length === 1 && earlier.length > 1 }
}

/** Whether nobody has changed the object between the writer's last write and that version: the writer may have copied its content before. */
function saysNothingNew(
  known: KnownVersion,
  { versions }: KnownObject,
  { write, by, objects }: ReadContext,
): boolean {
  const last = objects.lastActed(write.object.uid, by)
  return !versions.some(
    ({ version, contentVersion, begun }) =>
      version > last && version <= known.version && (begun === true || version === contentVersion),
  )
}

/**
 * The listed version stands for an earlier one: the owner existed with the copied content before the object was created, though a list
 * showed only its later state; and it wanted fewer objects before one of them went. None if an earlier known version may have been read
 * instead, because none has more of the copied content.
 */
function shownLater(
  versions: readonly KnownVersion[],
  earlier: readonly KnownVersion[],
  copies: NonNullable<Relation['copies']>,
  { write: { facts, request, listed }, part, before }: ReadContext,
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
  // Both were changed by an author while the watch was down.
  const isAuthored = listed === 'later' && part === 'authored' && facts && before
  if (isAuthored && newest && facts.generation > before.facts.generation && asMuch >= most(earlier)) {
    const changed = later.findLast((one) => one.facts.generation > newest.facts.generation)
    if (changed !== undefined) return changed
  }
  return asMuch > most(earlier) ? later.findLast((one) => equal(one) === asMuch) : undefined
}

/** Prefers versions that existed when the request began. */
function newestOf(versions: readonly KnownVersion[], reading: ReadContext): KnownVersion | undefined {
  return versions.find((known) => mayHaveRead(known, reading)) ?? versions[0]
}

/** The versions whose content the write copies, as far as both have it. None if nothing can be compared. */
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

interface CountedObject {
  readonly identity: ObjectIdentity
  /** The versions below the write, newest first. */
  readonly versions: readonly KnownVersion[]
}

interface CountedVersions {
  readonly versions: readonly { readonly identity: ObjectIdentity; readonly known: KnownVersion }[]
  /** What came later was not counted. */
  readonly upTo: bigint
}

/**
 * What a status that counts other objects was written for: their newest state whose sum matches the status. Of that state, the versions
 * that gave each object its current count and that had not been counted at the writer's last write. Undefined if nothing is counted,
 * there are too many objects, or no state matches.
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
  const upTo = [read, all].flatMap((some) => momentsOf(some, below)).find(fits)
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

/** The moments after each version of each object, newest first, and the moment before all of them. */
function momentsOf(all: readonly CountedObject[], below: bigint): bigint[] {
  const moments = all.flatMap(({ versions }) => versions.map(({ version }) => version))
  const inOrder = moments.sort((one, other) => (one > other ? -1 : 1))
  return [...inOrder, (inOrder.at(-1) ?? below) - 1n]
}

function sumOf(all: readonly CountedObject[], print: string, upTo: bigint): number {
  return all.reduce((sum, { versions }) => {
    const known = versions.find(({ version }) => version <= upTo)
    return sum + (known === undefined || known.gone ? 0 : Number(fingerprintOf(known.facts, print) ?? 0))
  }, 0)
}

/** The oldest version of the newest run of versions that count the same. */
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

/** Whether an owner wants fewer of what it owns than in another version of it. */
export function wantsFewerReplicas(one: ObjectFacts, other: ObjectFacts): boolean {
  const [size, before] = [fingerprintOf(one, 'size'), fingerprintOf(other, 'size')]
  return size !== undefined && before !== undefined && Number(size) < Number(before)
}
