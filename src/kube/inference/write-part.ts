import { FINGERPRINT, fingerprintOf, type ObjectFacts } from '../../model/kubernetes-objects.ts'
import type { KnownVersion } from '../../model/inference-store.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'

/**
 * The part of an object that a write changes.
 * - creation, authored: what an author writes, for the first time or again.
 * - status, scale, binding: those subresources.
 * - deletion: the object gets a deletionTimestamp, is deleted at once, or gets the condition DisruptionTarget of an eviction.
 * - removal: an object with a deletionTimestamp is deleted, or changes once more, such as its finalizers or its grace period.
 * - heartbeat: only the time changed at which its writer was last alive.
 */
export type WritePart =
  'creation' | 'authored' | 'status' | 'scale' | 'binding' | 'deletion' | 'removal' | 'heartbeat'

/** `before` are the facts of the version before, if one is known. */
export function partOfWrite(write: ClusterWrite, before: ObjectFacts | undefined): WritePart {
  const { request, facts, gone } = write
  if (gone) return before?.deleting === true ? 'removal' : 'deletion'
  if (facts?.deleting === true && before?.deleting !== true) return 'deletion'
  if (before !== undefined && isMarkedAsEvicted(facts) && !isMarkedAsEvicted(before)) return 'deletion'
  if (request?.verb === 'delete') return before?.deleting === true ? 'removal' : 'deletion'
  const asked = request && partOfSubresource(request.subresource)
  if (asked !== undefined && asked !== 'status') return asked
  if (request?.verb === 'create') return 'creation'
  // A request to change an unknown object did not create it, and may have changed nothing.
  if (before === undefined && asked === undefined) return request === undefined ? 'creation' : 'authored'
  if (facts === undefined || before === undefined) return asked ?? 'authored'
  if (asked !== 'status') return partThatChanged(facts, before)
  // Controllers write annotations along with a status.
  return changed(FINGERPRINT.authored, facts, before) ? 'status' : statusOr('heartbeat', facts, before)
}

function partThatChanged(facts: ObjectFacts, before: ObjectFacts): WritePart {
  if (changed('node', facts, before) && before.prints.node === '') return 'binding'
  // Controllers write annotations along with a status. A write of the spec makes a new generation.
  const isStatus = facts.generation === before.generation && changed(FINGERPRINT.status, facts, before)
  if (isStatus || !changed(FINGERPRINT.authored, facts, before)) return statusOr('authored', facts, before)
  return before.deleting ? 'removal' : 'authored'
}

/** A status write may have changed only heartbeats. A write that changed nothing also counts as a heartbeat. */
function statusOr(otherwise: 'heartbeat' | 'authored', facts: ObjectFacts, before: ObjectFacts): WritePart {
  if (changed(FINGERPRINT.status, facts, before)) return 'status'
  return changed(FINGERPRINT.heartbeat, facts, before) ? 'heartbeat' : otherwise
}

function partOfSubresource(subresource: string): WritePart | undefined {
  switch (subresource) {
    case '':
      return undefined
    case 'status':
    case 'scale':
    case 'binding':
      return subresource
    case 'eviction':
      return 'deletion'
    default:
      return 'authored'
  }
}

function changed(print: string, facts: ObjectFacts, before: ObjectFacts): boolean {
  return fingerprintOf(facts, print) !== fingerprintOf(before, print)
}

const BY_API = 'EvictionByEvictionAPI'

/** For an eviction the API server sets a Pod's condition DisruptionTarget in a version of its own, and deletes the Pod in the next one. */
export function isMarkedAsEvicted(facts: ObjectFacts | undefined): boolean {
  return facts !== undefined && fingerprintOf(facts, 'evicted') === BY_API
}

/** An audit log alone does not show that condition. */
export function isEviction(
  { request }: Pick<ClusterWrite, 'request'>,
  facts: ObjectFacts | undefined,
): boolean {
  return request?.subresource === 'eviction' || isMarkedAsEvicted(facts)
}

/** This is the second version of an eviction; the version before is the first. */
export function completesEviction(
  { request }: ClusterWrite,
  part: WritePart,
  before: KnownVersion | undefined,
): boolean {
  const isOfEviction = request === undefined || request.subresource === 'eviction'
  return part === 'deletion' && isOfEviction && isMarkedAsEvicted(before?.facts)
}

/** Whether a write begins or completes a deletion. */
export function endingOf(part: WritePart): 'deletion' | 'removal' | undefined {
  return part === 'deletion' || part === 'removal' ? part : undefined
}
