import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { type FieldManager, fingerprintOf, type ObjectFacts } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { newestBelow } from './related-objects.ts'

/** What a request names that tells no uid is what has that name; it made nothing, or somebody would have told its version. */
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

/** The lowest version that has a node, if it is known without one before. */
export function boundBy(object: KnownObject | undefined): bigint | undefined {
  const [bound, before] = firstBound(object)
  return before && bound?.version
}

/** The lowest version that has a node, and the one before it. */
function firstBound(object: KnownObject | undefined): (KnownVersion | undefined)[] {
  const versions = object?.versions ?? []
  const at = versions.findLastIndex(isBound)
  return at === -1 ? [] : [versions[at], versions[at + 1]]
}

/**
 * Without a request that did not make the version. What a later list shows first was made while nobody looked, and who wrote it last,
 * as by a binding, did not make it; and what has a node already was not bound.
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

/** Bound by a request that did not tell the version: to which node, the version will say. */
const SOME_NODE = '?'

/** The version of a binding that its request has told already. */
export function isToldBinding({ version, facts }: ClusterWrite, before: KnownVersion | undefined): boolean {
  const isTold = version !== undefined && before?.facts.prints.node === SOME_NODE
  return isTold && facts?.deleting === false && fingerprintOf(facts, 'slice') === ''
}

/** The version that a binding made is told already: it has a node, and nothing else became of the Pod. */
export function isBindingKnown(object: KnownObject | undefined): boolean {
  const [bound, before] = firstBound(object)
  return bound !== undefined && before !== undefined && fingerprintOf(bound.facts, 'slice') === ''
}

/** The facts of a Pod after a binding that did not tell its version. */
export function boundSomewhere(facts: ObjectFacts | undefined): ObjectFacts | undefined {
  return facts && { ...facts, prints: { ...facts.prints, node: SOME_NODE } }
}

/**
 * How many versions are likely to have come between a write and the last that is known before it, at least: as many as its generation
 * counts, and one for each new entry of managedFields, of which each writer leaves one.
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
