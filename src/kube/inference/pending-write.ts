import type { ObjectIdentity } from '../../model/kubernetes-objects.ts'
import type {
  AdmittedRequest,
  AuditedRequest,
  ClusterWrite,
  MissingObject,
  WatchedVersion,
} from '../../model/kubernetes-observations.ts'
import { nanosOfMs, type UnixNanos } from '../../model/time-and-size.ts'
import { API_CLOCK_SKEW_NS, combinedRequest, isMadeFor, isOnTheWay } from './requests-of-writes.ts'

/** What is known of a write so far. */
export interface Pending {
  readonly sinceNs: UnixNanos
  /** When it, or a version above it that waited then, was first reported. */
  aheadNs?: UnixNanos
  /** Undefined for a request whose answer names none. */
  readonly version: bigint | undefined
  /** The time by which it had been made: a watch had reported it, or a version above it. */
  madeNs?: UnixNanos | undefined
  watched?: WatchedVersion | MissingObject | undefined
  audited?: AuditedRequest | undefined
  admitted?: AdmittedRequest | undefined
  /** This request is an eviction that has already marked the Pod, in the version before the one that deletes it. */
  hasMarked?: true
  /** This request deletes a collection that no answer lists: the objects that it has deleted, by uid. */
  deleted?: Set<string>
  /** Several users created objects with generated names at the same time, this one among them: who made which is not known. */
  isOneOfSeveral?: true
  /** Its request deleted a collection without an answer. */
  isOfCollection?: true
  /** A report that waited separately and turned out to be the request of this write. */
  joined?: Pending
  /** Processing it failed, and the fault was reported. */
  isFaulty?: true
}

/** No source reports what it changed, and no watch has seen that it changed anything. */
export function mayHaveDoneNothing({ audited }: Pending): boolean {
  if (audited === undefined || audited.facts !== undefined || audited.gone) return false
  const { verb, subresource } = audited.request
  return subresource === '' && (verb === 'patch' || verb === 'update')
}

/** A version of an object other than its end. */
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
 * How many of the writes behind one that was made on the way are to be decided with it: up to the write that it was made for, and up to
 * those that others in between were made for. None if that is not among them.
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

/** Whether what was seen at a moment may have been made by a request. */
export const mayComeAfter = (request: Pending, atNs: UnixNanos): boolean =>
  startNs(request) <= atNs + API_CLOCK_SKEW_NS

/** The names by which requests without a version name this one. */
export function watchedNames({ watched }: Pending): string[] {
  if (watched?.source !== 'watch') return []
  return [nameOf(watched.object), nameOf({ ...watched.object, name: '' })]
}

export function earlier(one: UnixNanos, other: UnixNanos = one): UnixNanos {
  return one < other ? one : other
}
