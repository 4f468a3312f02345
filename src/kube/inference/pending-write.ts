import type { ObjectIdentity } from '../../model/kubernetes-objects.ts'
import type {
  AdmittedRequest,
  AuditedRequest,
  ClusterWrite,
  MissingObject,
  WatchedVersion,
} from '../../model/kubernetes-observations.ts'
import { nanosOfMs, type UnixNanos } from '../../model/time-and-size.ts'
import {
  API_CLOCK_SKEW_NS,
  combinedRequest,
  isMadeFor,
  isOnTheWay,
  isShownBy,
  mayHaveMade,
} from './requests-of-writes.ts'

/** What is known of a write so far. */
export interface Pending {
  readonly sinceNs: UnixNanos
  /** When it, or a higher version that was waiting then, was first reported. */
  aheadNs?: UnixNanos
  /** Undefined for a request whose answer names none. */
  readonly version: bigint | undefined
  /** The time by which it had been made: when a watch reported it, or a higher version. */
  madeNs?: UnixNanos | undefined
  watched?: WatchedVersion | MissingObject | undefined
  audited?: AuditedRequest | undefined
  admitted?: AdmittedRequest | undefined
  /** This request is an eviction that has set the condition DisruptionTarget, in the version before the one that deletes the Pod. */
  hasMarked?: true
  /** For the deletion of a collection whose answer lists no objects: the uids of the objects that it has deleted. */
  deleted?: Set<string>
  /** Several users created objects with generated names at the same time, this one among them: who created which is not known. */
  isOneOfSeveral?: true
  /** Its request is the deletion of a collection whose answer lists no objects. */
  isOfCollection?: true
  /** A report that waited separately and turned out to be the request of this write. */
  joined?: Pending
  /** Processing it failed, and the fault was reported. */
  isFaulty?: true
}

/** Whether a patch or update may have changed nothing: no source reports its result. */
export function mayHaveDoneNothing({ audited }: Pending): boolean {
  if (audited === undefined || audited.facts !== undefined || audited.gone) return false
  const { verb } = audited.request
  return verb === 'patch' || verb === 'update'
}

/** Whether a version shows an object that exists. */
export function isThere({ watched, audited }: Pending): boolean {
  const told = watched ?? audited
  return told !== undefined && told.source !== 'list' && !told.gone
}

export function isWrittenOnTheWay({ watched, audited, admitted }: Pending): boolean {
  const told = watched?.source === 'watch' ? watched : audited
  if (told === undefined) return false
  return isOnTheWay({ object: told.object, facts: told.facts, request: (audited ?? admitted)?.request })
}

/**
 * How soon after a write made while serving a request the API server writes the requested object, and how many other writes may come
 * between.
 */
export const ON_THE_WAY_NS = nanosOfMs(200)
export const MOST_ON_THE_WAY = 64

/**
 * How many of the writes `behind` the first one are decided with it, if the API server made it while serving another request: all up to the
 * write of that request, and likewise for such writes in between. 0 if that write is not among them.
 */
export function decidedTogether(first: Pending, behind: readonly Pending[]): number {
  const all = [first, ...behind]
  let last = 0
  for (let at = 0; at <= last; at++) {
    const one = all[at]
    if (one === undefined || !isWrittenOnTheWay(one)) continue
    const write = writeOf(one)
    last = Math.max(
      last,
      all.findIndex((other, place) => place > at && isMadeFor(write, writeOf(other))),
    )
  }
  return last
}

/** The object existed before the first list, so no source reports who wrote it. */
export function wasThere({ watched }: Pending): boolean {
  return watched?.source === 'watch' && watched.by === 'first list'
}

const LISTED = { event: undefined, 'first list': 'first', 'later list': 'later' } as const

export function writeOf(
  { watched, audited, admitted, version, isOfCollection }: Pending,
  madeNs?: UnixNanos,
): ClusterWrite {
  const one = watched ?? audited
  if (one === undefined) throw new Error('a write that no source told of')
  const seenNs = madeNs ?? one.seenNs
  return {
    object: one.object,
    version,
    gone: one.source === 'list' || one.gone,
    facts: watched?.source === 'watch' ? watched.facts : audited?.facts,
    request: combinedRequest(audited?.request, admitted?.request, seenNs),
    seenNs,
    listed: watched && (watched.source === 'list' ? 'later' : LISTED[watched.by]),
    ...(isOfCollection && { isOfCollection }),
  }
}

export function keyOf(pending: Pending): string {
  return `${uidOf(pending)} ${pending.version}`
}

export function uidOf({ watched, audited }: Pending): string {
  return (watched ?? audited)?.object.uid ?? ''
}

export function nameOf({ resource, namespace, name }: ObjectIdentity): string {
  return `${resource}/${namespace}/${name}`
}

export function seenNs({ watched, audited }: Pending): UnixNanos {
  return audited?.request.endNs ?? watched?.seenNs ?? 0n
}

export const startNs = ({ audited }: Pending): UnixNanos => audited?.request.startNs ?? 0n

export const versionOf = ({ version = 0n }: Pending): bigint => version

/** Whether a request began before a moment, so that it may have made what was seen then. */
export const mayComeAfter = (request: Pending, atNs: UnixNanos): boolean =>
  startNs(request) <= atNs + API_CLOCK_SKEW_NS

/**
 * Of requests whose answers name no version, the one that made `version`: the first that it shows, else, once all are reported, the first
 * that may have made it. `others` are versions of its object, `collectionRequests` requests for its collection.
 */
export function requestOf(
  version: WatchedVersion,
  requests: readonly Pending[],
  areAllReported: boolean,
  others: ReadonlySet<Pending>,
  collectionRequests: readonly Pending[],
): Pending | undefined {
  const possible = requests
    .filter(({ audited, hasMarked }) => audited && mayHaveMade(audited, version, hasMarked === true))
    // Sorted by start: a request that deletes many objects is reported after requests that removed the first of them.
    .sort((one, other) => Number(startNs(one) - startNs(other)))
  const isShown = ({ audited }: Pending): boolean =>
    audited !== undefined && isShownBy(version, audited.request)
  const isShownLater = (request: Pending): boolean => isShownByLater(request, version, others)
  // A request that began only after this version was seen, and that a later version shows as well, made the later one.
  const shown = possible.find((one) => isShown(one) && (startNs(one) <= version.seenNs || !isShownLater(one)))
  const [first] = areAllReported ? possible : []
  if (shown !== undefined || first === undefined) return shown
  return collectionRequestOf(version, collectionRequests) !== undefined && isShownLater(first)
    ? undefined
    : first
}

/** The `nameOf` of requests that may have made this version: with its name, and without one for collections and generated names. */
export function watchedNames({ watched }: Pending): string[] {
  if (watched?.source !== 'watch') return []
  return [nameOf(watched.object), nameOf({ ...watched.object, name: '' })]
}

export function earlier(one: UnixNanos, other: UnixNanos = one): UnixNanos {
  return one < other ? one : other
}

/** Of requests for collections, the first that may have deleted an object and to which its deletion is not assigned yet. */
export function collectionRequestOf(
  version: WatchedVersion,
  requests: readonly Pending[],
): Pending | undefined {
  const { object, facts, gone, seenNs: atNs } = version
  if (!gone && !facts.deleting) return undefined
  return requests.find(({ audited, deleted }) => {
    if (audited?.request.verb !== 'delete' || deleted?.has(object.uid) === true) return false
    return mayHaveMade(audited, version, false) && atNs <= audited.request.endNs + API_CLOCK_SKEW_NS
  })
}

/** Whether a later version of the object shows that it was made by this request. */
function isShownByLater(
  { audited }: Pending,
  { version }: WatchedVersion,
  others: ReadonlySet<Pending>,
): boolean {
  return [...others].some(
    ({ watched }) =>
      watched?.source === 'watch' &&
      watched.version > version &&
      audited !== undefined &&
      isShownBy(watched, audited.request),
  )
}
