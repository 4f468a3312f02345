import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { type FieldManager, fingerprintOf, type ObjectFacts } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { newestBelow } from './read-context.ts'

/**
 * A request without a uid is matched to the object that has its name. It made nothing, or some source would have reported its version.
 */
export function withKnownIdentity(write: ClusterWrite, objects: ClusterObjects): ClusterWrite {
  const { object, version, request } = write
  const { resource, namespace, name } = object
  if (object.uid !== '' || version !== undefined) return write
  if (name === '' || (request?.verb === 'create' && request.subresource === '')) return write
  const known = objects.named(resource, namespace, name)
  return known === undefined ? write : { ...write, object: known.identity }
}

export function isBinding({ request }: ClusterWrite): boolean {
  return request?.subresource === 'binding'
}

const isBound = ({ facts }: KnownVersion): boolean => (fingerprintOf(facts, 'node') ?? '') !== ''

/** The lowest version with a node, if a version without a node is known before it. */
export function boundBy(object: KnownObject | undefined): bigint | undefined {
  const [bound, before] = firstBound(object)
  return before && bound?.version
}

/** The lowest version with a node, and the version before it. */
function firstBound(object: KnownObject | undefined): (KnownVersion | undefined)[] {
  const versions = object?.versions ?? []
  const at = versions.findLastIndex(isBound)
  return at === -1 ? [] : [versions[at], versions[at + 1]]
}

/**
 * Drops the request if it did not make this version. What a later list shows for the first time was made while the watch was down: its
 * last writer, such as a binding, did not make it. And a Pod that already had a node was not bound by this write.
 */
export function withOwnRequest(write: ClusterWrite, objects: ClusterObjects): ClusterWrite {
  const { listed, request, object, version } = write
  if (request === undefined) return write
  const known = objects.get(object.uid)
  const isCreation = request.verb === 'create' && request.subresource === ''
  const isOfLast = listed === 'later' && !isCreation && known === undefined
  const before = known && version !== undefined && isBinding(write) ? newestBelow(known, version) : undefined
  const isBoundBefore = before !== undefined && isBound(before) && before.facts.prints.node !== SOME_NODE
  return isOfLast || isBoundBefore ? { ...write, request: undefined } : write
}

/** The Pod was bound by a request whose version is unknown. The version will name the node. */
const SOME_NODE = '?'

/** The version of a binding that its request has already reported. */
export function isToldBinding({ version, facts }: ClusterWrite, before: KnownVersion | undefined): boolean {
  const isTold = version !== undefined && before?.facts.prints.node === SOME_NODE
  return isTold && facts?.deleting === false && fingerprintOf(facts, 'slice') === ''
}

/** The version that a binding made is already known: it has a node, and nothing else changed in the Pod. */
export function isBindingKnown(object: KnownObject | undefined): boolean {
  const [bound, before] = firstBound(object)
  return bound !== undefined && before !== undefined && fingerprintOf(bound.facts, 'slice') === ''
}

/** The facts of a Pod after a binding whose version is unknown. */
export function boundSomewhere(facts: ObjectFacts | undefined): ObjectFacts | undefined {
  return facts && { ...facts, prints: { ...facts.prints, node: SOME_NODE } }
}

/**
 * The least number of versions that probably came between a write and the last known version before it. Counts the steps of its
 * generation and the new entries in managedFields (one per writer).
 */
export function missedVersions({ facts, request }: ClusterWrite, before: KnownVersion | undefined): number {
  const isReadUnseen = (request?.readVersion ?? 0n) > (before?.version ?? 0n)
  if (facts === undefined) return isReadUnseen ? 1 : 0
  const known = new Set(before?.facts.managers.map(entryOf))
  const signed = facts.managers.filter((entry) => !known.has(entryOf(entry))).length
  const generations = facts.generation - (before?.facts.generation ?? 0)
  return Math.max(signed, generations, isReadUnseen ? 2 : 1) - 1
}

const entryOf = ({ manager, operation, subresource, time }: FieldManager): string =>
  [manager, operation, subresource, time].join(' ')
