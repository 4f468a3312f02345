import type { ClusterObjects } from '../../model/inference-store.ts'
import {
  type FieldManager,
  FINGERPRINT,
  fingerprintOf,
  type ObjectFacts,
  isCustomResource,
} from '../../model/kubernetes-objects.ts'
import type { Actor, ClusterWrite } from '../../model/kubernetes-observations.ts'
import { parseRfc3339 } from '../../model/time-and-size.ts'
import { matchesOnePattern, ownValue } from '../../model/names-from-outside.ts'
import { takesHold } from './primaries.ts'
import { disrupterOf, firstManager, isGoing, newestOf, whoDeletes } from './who-deletes.ts'
import type { WritePart } from './write-part.ts'
import {
  controller,
  KUBERNETES,
  OF_CONTENT,
  OF_NEW,
  OF_OWNER,
  OF_STATUS,
  programOf,
  TOOLS,
  unknown,
  type Writer,
} from './writers.ts'

export interface AttributionSettings {
  /** Users or services that begin changes, though they look like controllers; with wildcards. */
  readonly operators: readonly string[]
  /** Users or services that react to changes, though they look like people. */
  readonly controllers: readonly string[]
}

const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):(.+)$/
const NODE = /^system:node:/
/** Whom k3s and OpenShift give to whoever installs a cluster, though by its name it would be part of it. */
const ADMIN = 'system:admin'
export function inferWriter(
  write: ClusterWrite,
  part: WritePart,
  before: ObjectFacts | undefined,
  { objects, settings }: { objects: ClusterObjects; settings: AttributionSettings },
): Writer {
  const writer = write.request
    ? writerOfActor(write.request.actor)
    : withRoleByPrimaries(guessed(write, part, before, objects), write, part, before, objects)
  const names = [writer.service, writer.user ?? '']
  const isListed = (patterns: readonly string[]): boolean =>
    names.some((name) => matchesOnePattern(patterns, name))
  if (isListed(settings.operators)) return { ...writer, role: 'operator' }
  return isListed(settings.controllers) ? { ...writer, role: 'controller' } : writer
}

/**
 * Whoever looks after custom resources is no person. Whoever does not, and writes the status of one that somebody else looks after, or
 * what that owns, is.
 */
function withRoleByPrimaries(
  writer: Writer,
  { object, facts }: ClusterWrite,
  part: WritePart,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): Writer {
  if (writer.role !== 'unknown' || writer.service === 'unknown') return writer
  const program = programOf(writer.service)
  const looksAfter =
    objects.primariesOf(program).length > 0 || (part === 'authored' && takesHold(object, facts, before))
  if (looksAfter) return { ...writer, role: 'controller' }
  const owner = facts?.owners.find((one) => one.controller)
  const ofOwner = owner && objects.get(owner.uid)?.identity.resource
  const lookedAfter = part === 'status' ? object.resource : part === 'authored' ? ofOwner : undefined
  const isOfOthers = lookedAfter !== undefined && objects.lookingAfter(lookedAfter).length > 0
  return isOfOthers ? { ...writer, role: 'operator' } : writer
}

function writerOfActor({ user, userAgent }: Actor): Writer {
  const [program = ''] = userAgent.split('/', 1)
  const [, , account] = SERVICE_ACCOUNT.exec(user) ?? []
  if (TOOLS.test(program)) return { service: program, user, role: 'operator' }
  if (account !== undefined) return { service: account, user, role: 'controller' }
  if (NODE.test(user)) return { service: 'kubelet', user, role: 'controller' }
  if (user.startsWith('system:') && user !== ADMIN)
    return { service: user.slice('system:'.length), user, role: 'controller' }
  return { service: program === '' ? user : program, user, role: 'operator' }
}

/** By the entry of managedFields that is new, else by what the write does. */
function guessed(
  write: ClusterWrite,
  part: WritePart,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): Writer {
  if (part === 'binding') return controller('kube-scheduler')
  if (part === 'deletion' || part === 'removal') return whoDeletes(write, part, before, objects)
  const signed =
    part === 'creation'
      ? firstManager(write.facts)
      : (newManager(write.facts, before, part) ?? extendedManager(write.facts, before, part))?.manager
  const owning = part === 'authored' ? whoOwns(write, before, objects) : undefined
  if (owning !== undefined && (signed === undefined || signed === 'kube-controller-manager'))
    return controller(owning)
  const usual = usualWriter(write, part, before, objects)
  if (isUnsigned(write, part, before)) {
    const remover = whoTakesAway(write, before)
    if (remover !== undefined) return remover
  }
  // Within the second of every new template its controller notes the revision, which is no author's second write.
  const isNote = part === 'authored' && usual === 'deployment-controller'
  // What an autoscaler signs may have no time: it is the same each time that it scales.
  const isScaledAgain =
    usual === 'horizontal-pod-autoscaler' &&
    write.facts?.managers.some(({ subresource, time }) => subresource === 'scale' && time === '') === true
  const isOwnTaint = usual === 'node-controller'
  const program =
    signed ?? (isNote || isScaledAgain || isOwnTaint ? undefined : sameManager(write.facts, part))
  if (program !== undefined && TOOLS.test(program))
    return { service: 'kubectl', user: undefined, role: 'operator' }
  if (program !== undefined && program !== 'kube-controller-manager') {
    return { service: program, user: undefined, role: KUBERNETES.test(program) ? 'controller' : 'unknown' }
  }
  // A kubelet signs as itself.
  if (program === 'kube-controller-manager' && part === 'status' && write.object.resource === 'nodes')
    return controller('node-controller')
  if (usual !== undefined) return controller(usual)
  return program === undefined ? unknown() : controller(program)
}

/** How much the clock of the API server may be behind that by which versions are timed; entries of managedFields are cut to a second. */
const SIGNED_WITHIN_NS = 3_000_000_000n

/**
 * Nobody's entry of managedFields is as new as the version: its writer has only taken fields away, which leaves none. Whoever sets or
 * changes a field leaves one.
 */
function isUnsigned(
  { facts, listed, seenNs }: ClusterWrite,
  part: WritePart,
  before: ObjectFacts | undefined,
): boolean {
  if (facts === undefined || before === undefined || listed !== undefined || facts.managers.length === 0)
    return false
  if (part !== 'authored' && part !== 'scale' && part !== 'status') return false
  if (newManager(facts, before, part) !== undefined) return false
  const times = facts.managers.map(({ time }) => parseRfc3339(time))
  // Scaling by an autoscaler leaves an entry without a time.
  return times.every((time) => time !== undefined && time + SIGNED_WITHIN_NS < seenNs)
}

/**
 * Controllers take away what holds an object, owners that it has no more, Pods of a list, and taints of their own; what else goes, somebody took who is
 * no part of Kubernetes, and of operators' objects the status too. Undefined where it is not known.
 */
function whoTakesAway({ object, facts }: ClusterWrite, before: ObjectFacts | undefined): Writer | undefined {
  if (facts === undefined || before === undefined) return undefined
  const isChanged = (print: string): boolean => fingerprintOf(facts, print) !== fingerprintOf(before, print)
  if (isChanged('taints')) return controller('node-controller')
  if (object.resource === 'clusterroles' && facts.selects !== undefined)
    return controller('clusterrole-aggregation-controller')
  const [now, then] = [facts, before].map(
    (of) => of.references.filter(({ field }) => field === 'pods').length,
  )
  if (isChanged('held') || now !== then) return undefined
  const isAuthored = isChanged(FINGERPRINT.authored)
  return isAuthored || isCustomResource(object.apiVersion)
    ? { service: 'unknown', user: undefined, role: 'operator' }
    : undefined
}

/**
 * Who makes an object its owner's, or its owner's no more: that owner's controller; where the owner goes without it, whoever collects
 * garbage.
 */
function whoOwns(
  { facts }: ClusterWrite,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): string | undefined {
  if (facts === undefined || before === undefined) return undefined
  const [now, former] = [facts, before].map(({ owners }) => owners.find((one) => one.controller))
  if (now?.uid === former?.uid) return undefined
  if (now === undefined && isGoing(newestOf(objects.get(former?.uid ?? ''))))
    return 'generic-garbage-collector'
  return ownValue(OF_OWNER, (now ?? former)?.kind ?? '')
}

/** Who writes such a thing where everything is as usual. */
function usualWriter(
  { object, facts }: ClusterWrite,
  part: WritePart,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): string | undefined {
  const { resource, name } = object
  if (part === 'creation') {
    const owner = (facts ?? before)?.owners.find((one) => one.controller)
    return owner
      ? ownValue(OF_OWNER, owner.kind)
      : (ownValue(OF_NEW, `${resource}/${name}`) ?? ownValue(OF_NEW, resource))
  }
  if (part === 'authored' && resource === 'nodes' && facts?.prints.taints !== before?.prints.taints)
    return 'node-controller'
  if (part === 'status') {
    const isNew = facts?.prints.evicted !== before?.prints.evicted
    return (isNew ? disrupterOf(facts) : undefined) ?? ownValue(OF_STATUS, resource)
  }
  if (resource !== 'deployments') return ownValue(OF_CONTENT, resource)
  if (facts?.prints.template !== before?.prints.template) return undefined
  if (facts?.prints.wanted === before?.prints.wanted) {
    // It notes the revision, which makes no new generation.
    return (facts?.generation ?? 0) > (before?.generation ?? 0) ? undefined : 'deployment-controller'
  }
  const isScaled = objects.naming('target', 'horizontalpodautoscalers', object, 1).length > 0
  return isScaled ? 'horizontal-pod-autoscaler' : undefined
}

/** Where a list shows what an author wrote, its status may have been written since. */
function newManager(
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
  part: WritePart,
): FieldManager | undefined {
  const known = new Set(before?.managers.map(keyOf))
  const fresh = facts?.managers.filter((entry) => !known.has(keyOf(entry)))
  const author =
    part === 'authored' ? fresh?.findLast(({ subresource }) => subresource !== 'status') : undefined
  return author ?? fresh?.at(-1)
}

/** A manager that sets more fields within the second of its entry makes that entry longer. Undefined where several entries got longer. */
function extendedManager(
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
  part: WritePart,
): FieldManager | undefined {
  const extents = new Map(before?.managers.map((one) => [keyOf(one), one.extent]))
  const longer = facts?.managers.filter((one) => {
    const then = extents.get(keyOf(one))
    return then !== undefined && one.extent !== undefined && one.extent > then
  })
  const authors = longer?.filter(({ subresource }) => (subresource === 'status') === (part === 'status'))
  return authors?.length === 1 ? authors[0] : undefined
}

/**
 * Whoever writes twice within a second leaves the same entry: of what an author writes, that of the latest second, unless there
 * are several that people may not all stand behind.
 */
function sameManager(facts: ObjectFacts | undefined, part: WritePart): string | undefined {
  if (facts === undefined || (part !== 'authored' && part !== 'scale')) return undefined
  const authors = facts.managers.filter(({ subresource }) => subresource !== 'status')
  const latest = authors.reduce((time, one) => (one.time > time ? one.time : time), '')
  const [one, ...others] = new Set(
    authors.filter(({ time }) => time === latest).map(({ manager }) => manager),
  )
  const areTools = one !== undefined && [one, ...others].every((manager) => TOOLS.test(manager))
  return others.length === 0 || areTools ? one : undefined
}

function keyOf({ manager, operation, subresource, time }: FieldManager): string {
  return `${manager} ${operation} ${subresource} ${time}`
}
