import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import {
  type FieldManager,
  FINGERPRINT,
  fingerprintOf,
  type ObjectFacts,
} from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { newestBelow } from './read-context.ts'

/** A write that an audit log alone reports, with what is known of its object. */
export function withKnownFacts(told: ClusterWrite, objects: ClusterObjects): ClusterWrite {
  const write = withOwnRequest(withKnownIdentity(told, objects), objects)
  const { facts, request, version, object } = write
  const deleted = startsDeletion(write) ? objects.get(object.uid)?.versions[0] : undefined
  if (deleted !== undefined) return { ...write, facts: { ...deleted.facts, deleting: true } }
  const replicas = request?.replicas
  const known = replicas === undefined || facts !== undefined ? undefined : objects.get(object.uid)
  const before = known && version !== undefined ? newestBelow(known, version) : undefined
  return before === undefined || replicas === undefined
    ? write
    : { ...write, facts: scaledTo(replicas, before.facts, object.resource) }
}

/** Whether a request deletes an object that still exists, and neither its answer nor a watch shows what became of the object. */
function startsDeletion({ facts, request, version, gone, isUnseen }: ClusterWrite): boolean {
  if (facts !== undefined || version !== undefined || gone || isUnseen === true) return false
  return request?.verb === 'delete' ? request.subresource === '' : request?.subresource === 'eviction'
}

/** The facts of an object after a scaling, whose answer is not the object itself. */
function scaledTo(replicas: number, { prints, shown, ...facts }: ObjectFacts, resource: string): ObjectFacts {
  const count = String(replicas)
  if (prints.scale === count) return { ...facts, prints, ...(shown && { shown }) }
  const [first] = prints.numbers?.split(' ').map(Number) ?? []
  return {
    ...{ ...facts, generation: facts.generation + 1 },
    prints: {
      ...{ ...prints, scale: count, [FINGERPRINT.authored]: `${prints[FINGERPRINT.authored]} x${count}` },
      ...(prints.size !== undefined && { size: count }),
      ...(resource === 'deployments' && { wanted: count }),
      ...(first !== undefined && { numbers: `${first} ${first + replicas}` }),
    },
    ...(shown && { shown: { ...shown, 'spec.replicas': count } }),
  }
}

/** A request without a uid is matched to the known object of that name. It created no object, or a source would have reported a version. */
function withKnownIdentity(write: ClusterWrite, objects: ClusterObjects): ClusterWrite {
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
 * Drops the request if it did not make this version: the object was created while the watch was down, and a later list shows it with its
 * last writer, such as a binding; or the Pod had a node before this binding.
 */
function withOwnRequest(write: ClusterWrite, objects: ClusterObjects): ClusterWrite {
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

/** Whether the version is of a binding that was decided by its request before. */
export function isToldBinding({ version, facts }: ClusterWrite, before: KnownVersion | undefined): boolean {
  const isTold = version !== undefined && before?.facts.prints.node === SOME_NODE
  return isTold && facts?.deleting === false && fingerprintOf(facts, 'slice') === ''
}

/** Whether the version that a binding made is already known: it has a node, and nothing else changed in the Pod. */
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
