import type { KnownObject, KnownVersion } from '../../model/inference-store.ts'
import {
  fingerprintOf,
  isCustomResource,
  type ObjectFacts,
  type ObjectIdentity,
} from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { countedVersions } from './counted-versions.ts'
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
import { type Relation, relationsOf } from './relations.ts'

/** A version of an object that a writer is assumed to have read. */
export interface ReadVersion {
  readonly identity: ObjectIdentity
  readonly known: KnownVersion
  /** The request names this version, or no other has the content that the write copies. Else it is only the most likely one. */
  readonly exact: boolean
  /** The earlier version that the writer acted on: the one that gave the object its content. Later versions only report progress. */
  readonly actedOn?: bigint | undefined
  /** It was read and influenced how the write was made, but did not cause it. */
  readonly isPassive?: true
  /** The field by which one of the objects names the other, if that is how it was found: `spec.issuerRef.name`. */
  readonly foundBy?: string
}

interface ReadVersions {
  readonly reads: readonly ReadVersion[]
  /** The version up to which the writer had seen everything that concerns the write; undefined if that cannot be determined. */
  readonly upTo: bigint | undefined
  /** Whether the content names all objects that were read: none is missing and none was guessed. */
  readonly isWhole: boolean
}

/** The versions that a controller read for a write: of the object itself, and of the objects that `table` relates to it. */
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
    if (isCustomController && ROUND_ABOUT.has(kind) && hasOtherNews(found.values(), reading)) continue
    if (news.some((read) => !IN_SPITE_OF_PROGRESS.has(kind) || !isOfOwnChange(read, reading))) continue
    if (!TOLD_BY_CONTENT.has(kind)) isWhole = false
    const counted = countedVersions(relation, reading)
    upTo = counted?.upTo ?? upTo
    const isUnchanged = counted?.versions.length === 0 && !isContentNew(reading)
    if (counted === undefined || isUnchanged) {
      const objects = relatedObjects(relation, reading, (uid) => found.get(uid)?.known)
      // The counted numbers are as before: then the status was written for objects that changed since its writer's last write.
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
        if (kind === 'successor')
          for (const [uid, before] of found) found.set(uid, { ...before, isPassive: true })
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

/** Whether the writer deletes a Pod though it never acted on the Pod or its owners, and these are no custom resources. */
function isPodOfOthers({ write, part, before, objects, by }: ReadContext): boolean {
  if (part !== 'deletion' || write.object.resource !== 'pods') return false
  if (by !== UNKNOWN && isOfKubernetes(by)) return false
  const owners = (write.facts ?? before?.facts)?.owners ?? []
  const isOwn = ({ uid }: Pick<ObjectIdentity, 'uid'>): boolean =>
    objects.lastActed(uid, by) > 0n || isCustomResource(objects.get(uid)?.identity.apiVersion ?? '')
  return ![write.object, ...owners].some(isOwn)
}

/** Whether the read version is of a Pod for which `isPodOfOthers` holds, or of an owner of that Pod. */
function isOfOthers({ identity: { uid } }: ReadVersion, reading: ReadContext): boolean {
  const { write, before } = reading
  const owners = (write.facts ?? before?.facts)?.owners ?? []
  return isPodOfOthers(reading) && [write.object, ...owners].some((one) => one.uid === uid)
}

/** If `isPodOfOthers` holds, drops the Pod's owners and makes the Pod passive, unless nothing else was read or it was being evicted. */
function withoutOthers(reads: readonly ReadVersion[], reading: ReadContext): readonly ReadVersion[] {
  if (isMarkedAsEvicted(reading.before?.facts) || reads.every((read) => isOfOthers(read, reading)))
    return reads
  return reads.flatMap((read): ReadVersion[] => {
    if (!isOfOthers(read, reading)) return [read]
    return read.identity.uid === reading.write.object.uid ? [{ ...read, isPassive: true }] : []
  })
}

/** Relations to objects that may have delayed the write. */
const HELD_UP: ReadonlySet<Reads['kind']> = new Set(['admission', 'namesake'])

/** Whether another object that was read has newer content, so that this one did not delay the write. */
function isOlder(one: ReadVersion | undefined, read: Iterable<ReadVersion>): boolean {
  return [...read].some(
    ({ known: { version, contentVersion = version } }) => contentVersion > (one?.known.version ?? 0n),
  )
}

/** Whether the change of `one` is already among those of the versions that are read, or it has none. */
function isOfThoseChanges(one: ReadVersion | undefined, read: Iterable<ReadVersion>): boolean {
  const cpid = one?.known.cpid
  return (
    cpid === undefined || [...read].some(({ known }) => known.cpid === cpid || known.includes.includes(cpid))
  )
}

/**
 * Whether another change lets a stuck rollout go on, such as by freeing room on a node: the ReplicaSet with the owner's template joined
 * that change after it was created, and the fellow belongs to it. Then the write follows from that change as well.
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

/** Whether the API server refused Pods of an object, or Pods that it got after that version waited for the scheduler. */
function wasHeldUp(uid: string, after: bigint, { objects, below }: ReadContext): boolean {
  const isPrinted = (object: KnownObject | undefined, print: string): boolean =>
    object?.versions.some(({ facts }) => (fingerprintOf(facts, print) ?? '') !== '') === true
  if (isPrinted(objects.get(uid), 'refused')) return true
  return objects.ownedBy(uid, 'pods', after, below, MAX_OBJECTS).some((pod) => isPrinted(pod, 'pending'))
}

/** Whether the version of another object belongs to a change to which the written object already belongs. */
function isOfOwnChange(
  { identity: { uid }, known: { cpid } }: ReadVersion,
  { write, before }: ReadContext,
): boolean {
  if (uid === write.object.uid || cpid === undefined || before === undefined) return false
  return before.cpid === cpid || before.includes.includes(cpid)
}

/** Relations that are only used if none of the versions read so far is news. */
const ONLY_WITHOUT_NEWS: ReadonlySet<Reads['kind']> = new Set([
  'kin',
  'made for the same',
  'done just before',
  'closed node',
  'naming just before',
])

/** Relations of `ONLY_WITHOUT_NEWS` that are also used if all news belongs to changes to which the written object already belongs. */
const IN_SPITE_OF_PROGRESS: ReadonlySet<Reads['kind']> = new Set(['kin', 'made for the same'])

/** Relations of controllers of custom resources that are only used if none of the other objects that they read is news. */
const ROUND_ABOUT: ReadonlySet<Reads['kind']> = new Set([
  'settings',
  'new namespace',
  'just begun',
  'successor',
])

/**
 * Whether there is news of another object than the written one and what that owns. News of a change that the written object has already
 * joined does not count.
 */
function hasOtherNews(read: Iterable<ReadVersion>, reading: ReadContext): boolean {
  const { uid } = reading.write.object
  const isOf = ({ identity, known }: ReadVersion): boolean =>
    identity.uid === uid || known.facts.owners.some((owner) => owner.uid === uid)
  return [...read].some((one) => !isOf(one) && isNews(one, reading) && !isOfOwnChange(one, reading))
}

/** Whether the version is newer than what its reader had seen when it last acted. Of the object and its owners, content counts. */
function isNews({ identity: { uid }, known }: ReadVersion, reading: ReadContext): boolean {
  const { write, before, objects, by } = reading
  const facts = write.facts ?? before?.facts
  const isOwn = uid === write.object.uid || facts?.owners.some((owner) => owner.uid === uid) === true
  const version = isOwn ? (known.contentVersion ?? 0n) : known.version
  const seen = uid === write.object.uid ? actedForPrimaries(reading) : isOwn ? 0n : objects.lastActed(uid, by)
  return version > higher(lastActedFor(reading, facts), seen)
}

/** The highest version that the writer had seen when it wrote the primary objects to which the object belongs. */
function actedForPrimaries({ primaries, objects, by }: ReadContext): bigint {
  return primaries()
    .filter(({ isIndirect }) => isIndirect !== true)
    .map(({ object: { identity } }) => objects.lastActed(identity.uid, by))
    .reduce(higher, 0n)
}

/** Whether it was created, deleted, or changed in content since the writer last wrote the written object. */
function hasMoved({ versions: [newest] }: KnownObject, { write, by, objects }: ReadContext): boolean {
  return newest !== undefined && (newest.contentVersion ?? 0n) > objects.lastActed(write.object.uid, by)
}

/**
 * What is written for an owner follows from the version that gave the owner its content, not from its later statuses. The same holds for
 * the object itself.
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
  // If the owner's content is no news, a Pod is created or deleted because something happened to other Pods. A custom controller records in
  // the status of its object what it still has to do.
  if (!reads.some((read) => owners.has(read.identity.uid) && isNew(read))) return reads
  const last = objects.lastActed(write.object.uid, by)
  return reads.map((read): ReadVersion => {
    const { contentVersion } = read.known
    if (owners.has(read.identity.uid)) return { ...read, actedOn: contentVersion }
    if (read.identity.uid !== write.object.uid || part === 'deletion' || read.actedOn) return read
    // The writer's own last version is no cause, unless the writer has just adopted the object.
    const object = objects.get(read.identity.uid)
    const isAdopted = object && [...owners].some((owner) => isNewlyOwned(object, owner, below))
    const isOwn = contentVersion !== undefined && contentVersion <= last && isAdopted !== true
    return isOwn ? { ...read, isPassive: true } : { ...read, actedOn: contentVersion }
  })
}

/** Whether the object's content is newer than the writer's last write and not yet observed. A status for it need not count anything new. */
function isContentNew({ write, before, by, objects }: ReadContext): boolean {
  if (before === undefined || isObserved(before, before)) return false
  return (before.contentVersion ?? 0n) > objects.lastActed(write.object.uid, by)
}

/** Relations whose objects the written object names, or whose content it copies. */
const TOLD_BY_CONTENT: ReadonlySet<Reads['kind']> = new Set([
  ...(['owner', 'leaving', 'predecessor', 'named', 'ended', 'entries', 'naming', 'namespace'] as const),
  ...(['departed', 'admission', 'former owner', 'applied from', 'replaced', 'edited', 'namesake'] as const),
])

/** The version that the API server made for the request during which it also made this write. */
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
  // The last reported version of a deleted object still has the finalizer whose removal deleted the object.
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

/** Whether the object's content is the same from the writer's last write up to `known`: the writer may have copied it before. */
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
 * A version above the write that stands for an earlier one which no source reported: a list showed the owner late. It has more of the
 * copied content than any earlier known version; for a deletion, it wants fewer objects. Undefined if an earlier version fits as well.
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

/** The newest version that existed when the request began, else the newest of all. */
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

/** Whether an owner wants fewer of what it owns than in another version of it. */
export function wantsFewerReplicas(one: ObjectFacts, other: ObjectFacts): boolean {
  const [size, before] = [fingerprintOf(one, 'size'), fingerprintOf(other, 'size')]
  return size !== undefined && before !== undefined && Number(size) < Number(before)
}
