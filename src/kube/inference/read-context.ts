import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { fingerprintOf, type ObjectFacts, type ObjectIdentity } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { nanosOfMs, parseRfc3339 } from '../../model/time-and-size.ts'
import type { FoundPrimary } from './primaries.ts'
import type { WritePart } from './write-part.ts'

/** What is known of a write when its reads are looked up. */
export interface ReadContext {
  readonly write: ClusterWrite
  readonly part: WritePart
  readonly by: string
  /** The writer is a controller that is not part of Kubernetes itself. */
  readonly isCustomController: boolean
  /** The writer is an account that reconciles no custom resource: perhaps a controller, perhaps a pipeline. */
  readonly isPlainController: boolean
  /** The newest known version of the object below the write. */
  readonly before: KnownVersion | undefined
  readonly objects: ClusterObjects
  /** The writer's primary objects to which the object belongs; looked up on the first call. */
  readonly primaries: () => readonly FoundPrimary[]
  /** Only versions below this one count. */
  readonly below: bigint
  /** Collects versions below `below` that were made too late to be read. They are news for the writer's next write. */
  readonly tooLate: Set<bigint>
}

/** The most objects that are searched per relation. */
export const MAX_OBJECTS = 64

/** The key of `lastActed` for what a controller wrote for an owner: the objects that the owner owns. */
export function actorForOwner(by: string): string {
  return `${by} for its owner`
}

export interface RelatedObject {
  readonly object: KnownObject
  /** Whether a version matches what the written object says of it, where that identifies the version. */
  readonly fits?: (version: KnownVersion) => boolean
  /** The reference by which it was found: `spec.issuerRef.name`, `labels app.kubernetes.io/instance`, `owner`. */
  readonly foundBy?: string
}

/** Controllers react to a change within this time, even those that wait for further changes. Pipelines run at any time. */
export const REACTS_WITHIN_NS = nanosOfMs(10_000)

/** Whether the request of a version began just before the request of the write. False if one of the requests is not known. */
export function isJustBefore(
  { request }: Pick<ClusterWrite, 'request'>,
  version: Pick<KnownVersion, 'readableNs'> | undefined,
): boolean {
  if (request === undefined || version?.readableNs === undefined) return false
  return request.startNs - version.readableNs < REACTS_WITHIN_NS
}

/** How long after its first write a reconcile may still write. */
const DONE_WITHIN_NS = nanosOfMs(2_000)

/** Whether a version was made so shortly before a write that one reconcile may have made both. */
export function isDoneTogether(
  { request, facts }: Pick<ClusterWrite, 'request' | 'facts'>,
  { readableNs, facts: done }: Pick<KnownVersion, 'readableNs' | 'facts'>,
): boolean {
  if (request !== undefined) return readableNs !== undefined && request.startNs - readableNs < DONE_WITHIN_NS
  return facts !== undefined && lastSigned(facts) - lastSigned(done) <= DONE_WITHIN_NS
}

/** The latest time in managedFields, in nanoseconds since 1970, cut to the second; 0 if there is none. */
export function lastSigned({ managers }: ObjectFacts): bigint {
  return managers.map(({ time }) => parseRfc3339(time) ?? 0n).reduce(higher, 0n)
}

/** How long before a write its cause can be, by the times in managedFields. */
const SIGNED_BEFORE_NS = nanosOfMs(3_000)

/** Whether somebody other than the writer changed the content of an object just before the write. */
export function isNewsOfOthers(
  object: KnownObject,
  reading: ReadContext,
  withinNs = SIGNED_BEFORE_NS,
): boolean {
  const { write, by, objects } = reading
  const content = newestContent(object, reading)
  if (content === undefined || content.version <= objects.lastActed(object.identity.uid, by)) return false
  if (write.request !== undefined) return isJustBefore(write, content)
  return isSignedJustBefore(content, reading, withinNs)
}

/** Whether a version was written just before the write, by the times in managedFields. */
export function isSignedJustBefore(
  { facts }: KnownVersion,
  { write }: ReadContext,
  withinNs = SIGNED_BEFORE_NS,
): boolean {
  return write.facts !== undefined && lastSigned(write.facts) - lastSigned(facts) <= withinNs
}

/** Whether somebody has just changed the content of an object, and nobody has written its status since. */
export function isStillToBeDone(object: KnownObject, reading: ReadContext): boolean {
  const newest = newestRead(object, reading)
  if (newest === undefined || newest.gone || newest.contentVersion !== newest.version) return false
  return reading.write.seenNs - lastSigned(newest.facts) < REACTS_WITHIN_NS
}

/** The version that gave the newest readable version its content; the oldest stored one if that is no longer stored. */
export function newestContent(object: KnownObject, reading: ReadContext): KnownVersion | undefined {
  const newest = newestRead(object, reading)
  const since = newest?.contentVersion
  if (newest === undefined || since === undefined) return newest
  return object.versions.find(({ version }) => version === since) ?? object.versions.at(-1)
}

export function higher(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}

/** Whether the object is deleted or has a deletionTimestamp. */
export function isDeleted(version: KnownVersion | undefined): boolean {
  return version !== undefined && (version.gone || version.facts.deleting)
}

/** The newest version of another object that the writer can have read. */
function newestRead({ versions }: KnownObject, reading: ReadContext): KnownVersion | undefined {
  return versions.find((known) => mayHaveRead(known, reading))
}

/**
 * Whether a version existed when the request began, as far as is known; else it only has to be below the write. A version below the write
 * whose request began after this one ended shows that the clocks of two API servers differ, and may have been read.
 */
export function mayHaveRead({ version, readableNs = 0n }: KnownVersion, reading: ReadContext): boolean {
  const { request } = reading.write
  if (version >= reading.below) return false
  if (request === undefined || readableNs <= request.startNs || readableNs > request.endNs) return true
  reading.tooLate.add(version)
  return false
}

export function newestBelow({ versions }: KnownObject, below: bigint): KnownVersion | undefined {
  return versions.find(({ version }) => version < below)
}

export function tellsRevision({ versions: [newest] }: KnownObject): boolean {
  return newest !== undefined && fingerprintOf(newest.facts, 'revision') !== undefined
}

/** The highest version that the writer had seen when it last wrote an object, its owners, or what these own. */
export function lastActedFor(
  { write: { object }, by, objects }: ReadContext,
  facts: ObjectFacts | undefined,
): bigint {
  const owners = (facts?.owners ?? []).map(({ uid }) => uid)
  const acted = [object.uid, ...owners].flatMap((uid) => [
    objects.lastActed(uid, by),
    objects.lastActed(uid, actorForOwner(by)),
  ])
  return acted.reduce(higher, 0n)
}

/** The owner of an object, if known: the controller owner, else the first. */
export function ownerOf(facts: ObjectFacts | undefined, objects: ClusterObjects): ObjectIdentity | undefined {
  const owner = facts?.owners.find(({ controller }) => controller) ?? facts?.owners[0]
  return owner && objects.get(owner.uid)?.identity
}

export function candidate(object: KnownObject | undefined, foundBy?: string): RelatedObject[] {
  return object === undefined ? [] : [{ object, ...(foundBy !== undefined && { foundBy }) }]
}

/** What has changed for a writer since it last looked. */
export type News = ReturnType<typeof newsFor>

/** `isContent`: only changes of content count. `readOf` names the version of an object that is already known to have been read. */
export function newsFor(
  reading: ReadContext,
  isContent: boolean,
  readOf: (uid: string) => KnownVersion | undefined,
) {
  const { write, before, objects, by, below } = reading
  const newest = (object: KnownObject): KnownVersion | undefined =>
    isContent ? newestContent(object, reading) : newestRead(object, reading)
  const changedAfter = (object: KnownObject, after: bigint): boolean =>
    (newest(object)?.version ?? 0n) > after
  const { uid } = write.object
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
  return { readOf, newest, changedAfter, facts, since, ownedAfter, changedIn }
}
