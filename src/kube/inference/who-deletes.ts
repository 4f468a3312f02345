import {
  ANY_RESOURCE,
  type ClusterObjects,
  EVERY_GROUP,
  foundUnder,
  type KnownObject,
  type KnownVersion,
  MADE_FOR,
} from '../../model/inference-store.ts'
import {
  isCustomResource,
  isSelectedBy,
  type ObjectFacts,
  type ObjectIdentity,
  OUT_OF_SERVICE,
  type OwnerReference,
} from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { ownValue } from '../../model/untrusted-names.ts'
import { parseRfc3339 } from '../../model/time-and-size.ts'
import { firstManager, whoKeepsNoLonger, whoMarked, whoTrims } from './history.ts'
import { namedIn } from './named-objects.ts'
import { clearsUpAfter, primariesNaming } from './primaries.ts'
import { isDeleted } from './read-context.ts'
import { lastEndedBelow } from './relatives.ts'
import { isMarkedAsEvicted, type WritePart } from './write-part.ts'
import {
  controller,
  CONTROLLER,
  isOfKubernetes,
  OF_DISRUPTION,
  OF_OWNER,
  OF_REMOVAL,
  person,
  programOf,
  TOOLS,
  unknown,
  type Writer,
} from './writers.ts'

const LAST = 2n ** 62n
const MAX_COUNTED = 1_000
const MAX_BUSY = 4
const MADE_FOR_IT = foundUnder(ANY_RESOURCE, MADE_FOR)

/** The controller that disrupts a Pod, by the reason of the Pod's condition DisruptionTarget. */
export function disrupterOf(facts: ObjectFacts | undefined): string | undefined {
  return ownValue(OF_DISRUPTION, facts?.prints.evicted ?? '')
}

/**
 * Guesses who deleted an object, if only a watch reports that. A kubelet removes terminating Pods, the garbage collector deletes objects
 * whose owners are deleted, an owner's controller what the owner has too many of. The role is `unknown` if nothing shows who.
 */
export function whoDeletes(
  { object, facts, gone, seenNs }: ClusterWrite,
  part: WritePart,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): Writer {
  if (part === 'removal') {
    const isEnded = object.resource !== 'pods' || before?.prints.atOnce === 'true'
    const isHeldByPeople = before !== undefined && isHeldSinceMade(before, objects)
    if (isEnded && isHeldByPeople && !isCustomResource(object.apiVersion)) return person()
    if (isFilled(before, objects)) return person()
    const remover = isUncounted(object, before)
      ? 'job-controller'
      : isForsaken(object, before, objects)
        ? 'pod-garbage-collector'
        : ownValue(OF_REMOVAL, object.resource)
    if (remover !== undefined) return controller(remover)
    return before?.prints.awaits === 'dependents' ? controller('generic-garbage-collector') : unknown()
  }
  const known = facts ?? before
  if (part === 'deletion' && isMarkedAsEvicted(known)) return unknown()
  const reference = known?.owners.find((one) => one.controller)
  const owner = newestOf(objects.get(reference?.uid ?? ''))
  if (isDeleted(owner) || isOfNobody(known, objects)) return controller('generic-garbage-collector')
  if (isDeletedWithService(object, known, objects)) return controller('kube-apiserver')
  if (object.resource === 'endpointslices' && reference?.kind === 'Endpoints')
    return controller('endpointslicemirroring-controller')
  if (known?.prints.reclaimed === 'true') return controller('persistent-volume-binder')
  const maker =
    owner !== undefined &&
    reference !== undefined &&
    isUnwanted({ object, gone, seenNs }, [known, before], reference, owner.facts, objects)
      ? ownValue(OF_OWNER, reference.kind)
      : undefined
  const usual = disrupterOf(known) ?? maker ?? whoLetsExpire(known, part, seenNs, objects)
  if (usual !== undefined) return controller(usual)
  const { expiresAt } = known?.prints ?? {}
  const first = firstManager(known)
  const [expiring] =
    expiresAt !== undefined && BigInt(expiresAt) <= seenNs ? objects.lookingAfter(object.resource) : []
  if (expiring !== undefined) return controller(expiring)
  const isNamespaceGoing = isDeleted(newestOf(objects.named('namespaces', '', object.namespace)))
  if (isNamespaceGoing) return controller('namespace-controller')
  const expirer = whoKeepsNoLonger(object, known, seenNs, objects)
  if (expirer !== undefined) return expirer
  // A controller deletes what it created as soon as the object for which it created that is being deleted.
  const writers = known?.managers.map(({ manager }) => manager) ?? []
  const clearing = writers.find((one) => clearsUpAfter(object, known, programOf(one), objects))
  if (clearing !== undefined) return controller(clearing)
  const applier = known && applierOf(known, objects)
  if (first !== undefined && (isDeleted(applier) || applier?.facts.prints.applying === 'true'))
    return controller(first)
  const renewer = isOutdated(known, owner?.facts)
    ? whoRenews(known, objects.get(reference?.uid ?? ''), seenNs, objects)
    : undefined
  if (renewer !== undefined) return controller(renewer)
  const restarter = whoRestarts(object, owner?.facts, objects)
  if (restarter !== undefined) return controller(restarter)
  const ofOwner = objects.get(reference?.uid ?? '')?.identity
  const isUnselected = ofOwner?.namespace === '' && isNewsIn(object, objects)
  const [lookingAfter] =
    isUnselected || isSignedLately(owner?.facts, seenNs) ? objects.lookingAfter(ofOwner?.resource ?? '') : []
  if (lookingAfter !== undefined) return controller(lookingAfter)
  const makers = programsThatMade(known, objects)
  return (
    whoReacts({ object, facts, seenNs }, before, makers, objects) ??
    whoClearsUp(object, known, makers, seenNs, objects) ??
    whoEnds(object, known, objects) ??
    whoTrims(object, known, seenNs, objects) ??
    whoMarked(known, seenNs) ??
    unknown()
  )
}

/** Whether the owner's controller deletes the object: as surplus, to replace it, or because it is only history. */
function isUnwanted(
  { object, gone, seenNs }: Pick<ClusterWrite, 'object' | 'gone' | 'seenNs'>,
  [known, before]: readonly [ObjectFacts | undefined, ObjectFacts | undefined],
  reference: OwnerReference,
  owner: ObjectFacts,
  objects: ClusterObjects,
): boolean {
  const { kind, uid } = reference
  return (
    isBeyond(object, owner) ||
    (kind === 'DaemonSet' && isOffItsNode(known, owner, objects)) ||
    (REPLACES_ENDED.has(kind) && hasEnded(object, before)) ||
    (kind === 'Job' && isEnding(owner, uid, seenNs, objects)) ||
    isNotKept(object, known, reference, owner, objects) ||
    // A kubelet that deletes an ended Pod by name, without a grace period, may delete the new Pod of that name.
    ((gone || !isRenewed(before, owner)) &&
      !isOutOfTurn(object, reference, owner, objects) &&
      hasSurplus(owner, uid, object.resource, objects))
  )
}

/** A terminating Pod that its kubelet has ended, but whose Job's controller still has to count it and remove its finalizer. */
function isUncounted({ resource }: ObjectIdentity, before: ObjectFacts | undefined): boolean {
  return resource === 'pods' && before?.prints.atOnce === 'true' && before.prints.uncounted === 'true'
}

/** Whether a terminating namespace still has objects. Its controller removes it only once they are deleted, so a person removed it. */
function isFilled(before: ObjectFacts | undefined, objects: ClusterObjects): boolean {
  const remaining = before?.references.filter(({ field }) => field === 'remaining') ?? []
  return remaining.some(({ resource, namespace }) =>
    objects
      .changedIn(resource, namespace, 0n, LAST, MAX_COUNTED)
      .some((object) => newestOf(object)?.gone === false),
  )
}

/** Whether a Pod's node is deleted or tainted as out of service, so that no kubelet ends the Pod. */
export function isForsaken(
  { resource }: ObjectIdentity,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): boolean {
  const named = before?.references.find(({ field }) => field === 'node')
  const node = resource === 'pods' && named ? newestOf(objects.named('nodes', '', named.name)) : undefined
  return node?.gone === true || node?.facts.prints.closed?.split(' ').includes(OUT_OF_SERVICE) === true
}

/**
 * Whether a person set the object's finalizers: with a tool, or with the program that created the object, if that reconciles nothing and is
 * not called a controller. Controllers set finalizers on objects that others created.
 */
function isHeldSinceMade(before: ObjectFacts, objects: ClusterObjects): boolean {
  const maker = before.owners.length === 0 ? firstManager(before) : undefined
  const isPlain = (one: string): boolean =>
    one === maker &&
    !isOfKubernetes(one) &&
    !CONTROLLER.test(one) &&
    objects.primariesOf(programOf(one)).length === 0
  return before.managers.some(
    ({ manager, holds }) => holds === true && (TOOLS.test(manager) || isPlain(manager)),
  )
}

/** The managers that wrote the content of an object; empty unless all of them reconcile custom resources. */
function programsThatMade(facts: ObjectFacts | undefined, objects: ClusterObjects): string[] {
  const authors = facts?.managers.filter(({ subresource }) => subresource === '') ?? []
  const programs = [...new Set(authors.map(({ manager }) => manager))]
  const isController = (one: string): boolean =>
    !TOOLS.test(one) && objects.primariesOf(programOf(one)).length > 0
  return programs.every(isController) ? programs : []
}

/** How soon a controller acts on a change of what it reconciles, by the times in managedFields. */
const REACTS_WITHIN_NS = 3_000_000_000n

/** The first of `programs` whose primary object of this one was deleted, was just changed by others, or names what they changed. */
export function whoReacts(
  { object, facts, seenNs }: Pick<ClusterWrite, 'object' | 'facts' | 'seenNs'>,
  before: ObjectFacts | undefined,
  programs: readonly string[],
  objects: ClusterObjects,
): Writer | undefined {
  const isEnding = (program: string, one: KnownObject): boolean => {
    const newest = newestOf(one)
    if (newest?.gone === true) return newest.version > objects.lastActed(object.uid, program)
    return newest?.facts.deleting === true
  }
  const isJustChanged = (program: string, one: KnownObject): boolean => {
    const newest = newestOf(one)
    if (newest === undefined || newest.gone) return false
    return newest.facts.managers.some(({ manager, subresource, time }) => {
      const isOther = subresource === '' && programOf(manager) !== program && !isOfKubernetes(manager)
      const at = parseRfc3339(time)
      return isOther && at !== undefined && at + REACTS_WITHIN_NS > seenNs
    })
  }
  const reacting = programs.find((manager) => {
    const program = programOf(manager)
    return primariesNaming(object, facts ?? before, program, objects)
      .filter(({ object: { identity } }) => identity.uid !== object.uid)
      .some(({ object: primary }) => {
        // The managedFields of a deleted object do not show when it was deleted: for named objects, only changes count.
        const references = newestOf(primary)?.facts.references ?? []
        const named = namedIn(references, primary.identity, program, objects)
        const changed = [primary, ...named.map((one) => one.object)]
        return isEnding(program, primary) || changed.some((one) => isJustChanged(program, one))
      })
  })
  return reacting === undefined ? undefined : controller(reacting)
}

/** The controller that made an object without an owner, if it has just written an object that it reconciles in the same namespace. */
function whoClearsUp(
  { namespace }: ObjectIdentity,
  known: ObjectFacts | undefined,
  makers: readonly string[],
  nowNs: bigint,
  objects: ClusterObjects,
): Writer | undefined {
  if (known === undefined || known.owners.length > 0) return undefined
  const busy = makers.find((maker) =>
    objects
      .primariesOf(programOf(maker))
      .flatMap((resource) => objects.changedIn(resource, namespace, 0n, LAST, MAX_BUSY))
      .some((one) => {
        const managers = newestOf(one)?.facts.managers ?? []
        const own = managers.filter(({ manager }) => programOf(manager) === programOf(maker))
        return own.some(({ time }) => (parseRfc3339(time) ?? 0n) + REACTS_WITHIN_NS > nowNs)
      }),
  )
  return busy === undefined ? undefined : controller(busy)
}

/** The program to whose primary objects the object belongs, if all of these are deleted and something else made for them is not yet. */
function whoEnds(
  object: ObjectIdentity,
  known: ObjectFacts | undefined,
  objects: ClusterObjects,
): Writer | undefined {
  if (isCustomResource(object.apiVersion) || known === undefined || known.owners.length > 0) return undefined
  const kinds = objects.kindsOf(EVERY_GROUP)
  const ending = [...new Set(kinds.flatMap((kind) => objects.lookingAfter(kind)))].find((program) => {
    const primaries = primariesNaming(object, known, program, objects).filter(
      (one) => one.isIndirect !== true,
    )
    if (!primaries.every((one) => isDeleted(newestOf(one.object)))) return false
    return primaries
      .flatMap((one) => objects.ownedBy(one.object.identity.uid, MADE_FOR_IT, 0n, LAST, MAX_COUNTED))
      .some((part) => part.identity.uid !== object.uid && !isDeleted(newestOf(part)))
  })
  return ending === undefined ? undefined : controller(ending)
}

/** Whether a StatefulSet with the update strategy OnDelete wants another revision of the Pod: others have to delete the Pod. */
function isOutdated(pod: ObjectFacts | undefined, set: ObjectFacts | undefined): boolean {
  const wanted = set?.prints.renewedTo
  if (pod === undefined || set === undefined || wanted === undefined) return false
  const isUnseen = Number(set.prints.observed ?? 0) < set.generation
  return isUnseen || pod.labels?.['controller-revision-hash'] !== wanted
}

/**
 * The program that reconciles the owner of a Pod's StatefulSet, or what names the StatefulSet: if it has just written one of the three; or
 * if somebody has just written the StatefulSet, and the program has written the Pod since it last wrote the StatefulSet.
 */
function whoRenews(
  pod: ObjectFacts | undefined,
  set: KnownObject | undefined,
  nowNs: bigint,
  objects: ClusterObjects,
): string | undefined {
  const facts = newestOf(set)?.facts
  const above = objects.get(facts?.owners.find((one) => one.controller)?.uid ?? '')
  const managers = [pod, facts, newestOf(above)?.facts].flatMap((one) => one?.managers ?? [])
  const makers = new Set(managers.map(({ manager }) => programOf(manager)))
  const naming = [...makers].filter(
    (one) => set && primariesNaming(set.identity, facts, one, objects).length > 0,
  )
  const lastBy = (program: string, of: ObjectFacts | undefined): string =>
    (of?.managers ?? [])
      .filter(({ manager, subresource }) => subresource === '' && programOf(manager) === program)
      .reduce((last, { time }) => (time > last ? time : last), '')
  return [...objects.lookingAfter(above?.identity.resource ?? ''), ...naming].find((program) => {
    const own = managers.filter(({ manager }) => programOf(manager) === program)
    const isMarked = lastBy(program, pod) !== '' && lastBy(program, pod) >= lastBy(program, facts)
    return isSignedLately({ managers: own }, nowNs) || (isMarked && isSignedLately(facts, nowNs))
  })
}

/** The program that reconciles the owner of a Pod's owner, if the Pod leads a group of Pods of which another one is being deleted. */
function whoRestarts(
  pod: ObjectIdentity,
  owner: ObjectFacts | undefined,
  objects: ClusterObjects,
): string | undefined {
  const above = objects.get(owner?.owners.find((one) => one.controller)?.uid ?? '')
  const [program] = objects.lookingAfter(above?.identity.resource ?? '')
  if (program === undefined || pod.resource !== 'pods') return undefined
  return lastEndedBelow(pod, LAST, objects) && program
}

/** Whether the object's namespace was changed after the object was written: a cluster-scoped owner may no longer select the namespace. */
function isNewsIn({ uid, namespace }: ObjectIdentity, objects: ClusterObjects): boolean {
  const changed = newestOf(objects.named('namespaces', '', namespace))?.contentVersion
  const written = newestOf(objects.get(uid))?.version
  return changed !== undefined && written !== undefined && changed > written
}

/** The GitOps object that an object's labels name as its source. Its controller deletes what is no longer in git. */
function applierOf({ references }: ObjectFacts, objects: ClusterObjects): KnownVersion | undefined {
  const named = references.find(({ field }) => field === 'applied from')
  return named && newestOf(objects.named(named.resource, named.namespace, named.name))
}

/** Whether it has owners and all of them are deleted or being deleted. The garbage collector does not ask which is the controller. */
function isOfNobody(facts: ObjectFacts | undefined, objects: ClusterObjects): boolean {
  const owners = facts?.owners ?? []
  return owners.length > 0 && owners.every(({ uid }) => isDeleted(newestOf(objects.get(uid))))
}

/** The API server itself deletes Endpoints along with their Service, and addresses that their Service no longer has. */
function isDeletedWithService(
  { resource, namespace, name }: ObjectIdentity,
  facts: ObjectFacts | undefined,
  objects: ClusterObjects,
): boolean {
  if (resource === 'endpoints') return isDeleted(newestOf(objects.named('services', namespace, name)))
  return (facts?.references ?? []).some(({ field, namespace: space, name: called }) => {
    if (field !== 'allocated for') return false
    const [newest, ...earlier] = objects.named('services', space, called)?.versions ?? []
    return isDeleted(newest) || (!hasAddress(newest, name) && earlier.some((one) => hasAddress(one, name)))
  })
}

function hasAddress(service: KnownVersion | undefined, address: string): boolean {
  return service?.facts.prints.addresses?.split(' ').includes(address) === true
}

/**
 * Whether a StatefulSet's rolling update leaves this Pod alone for now. It replaces Pods from the highest ordinal down, none while one with
 * a higher ordinal is not ready, and none below the partition.
 */
function isOutOfTurn(
  pod: ObjectIdentity,
  { uid, kind }: OwnerReference,
  owner: ObjectFacts,
  objects: ClusterObjects,
): boolean {
  if (kind !== 'StatefulSet') return false
  if (numberOf(pod) < Number(owner.prints.renewsFrom ?? 0)) return true
  if (owner.prints.renews !== 'true') return false
  return objects
    .ownedBy(uid, 'pods', 0n, LAST, MAX_COUNTED)
    .some(
      ({ identity, versions: [one] }) =>
        one?.gone === false && one.facts.prints.ready === '0' && numberOf(identity) > numberOf(pod),
    )
}

/** Whether a Pod that has not ended has its owner's newest revision, so that the owner's controller keeps it. */
function isRenewed(pod: ObjectFacts | undefined, { prints: { renewed } }: ObjectFacts): boolean {
  const [label = '', value] = renewed?.split('=') ?? []
  return value !== undefined && pod?.prints.replicas === '1' && ownValue(pod.labels ?? {}, label) === value
}

/** Whether the Pod's ordinal is outside the range that its StatefulSet wants. */
function isBeyond(pod: ObjectIdentity, { prints: { numbers } }: ObjectFacts): boolean {
  const [first, end] = numbers?.split(' ').map(Number) ?? []
  const number = numberOf(pod)
  return (
    pod.resource === 'pods' && first !== undefined && end !== undefined && (number < first || number >= end)
  )
}

function numberOf({ name }: ObjectIdentity): number {
  return Number(name.slice(name.lastIndexOf('-') + 1))
}

/** Kinds of owners whose controllers delete ended Pods and create others in their place. */
const REPLACES_ENDED: ReadonlySet<string> = new Set(['StatefulSet', 'DaemonSet'])

function hasEnded({ resource }: ObjectIdentity, known: ObjectFacts | undefined): boolean {
  return resource === 'pods' && known?.prints.replicas === '0' && !known.deleting
}

/** Whether the Pod's node is deleted or lacks the labels that the DaemonSet requires. False if the node is not known. */
function isOffItsNode(
  pod: ObjectFacts | undefined,
  { selects = [] }: ObjectFacts,
  objects: ClusterObjects,
): boolean {
  const { name = '' } = pod?.references.find(({ field }) => field === 'node') ?? {}
  const node = newestOf(objects.named('nodes', '', name))
  if (node === undefined || isDeleted(node)) return node !== undefined
  const { labels = {} } = node.facts
  return selects.length > 0 && !selects.some((selector) => isSelectedBy(labels, selector))
}

/** Whether a Job may be ending: its activeDeadlineSeconds have passed, or its controller still has to count a Pod that has ended. */
function isEnding(job: ObjectFacts, uid: string, nowNs: bigint, objects: ClusterObjects): boolean {
  const { deadline = '' } = job.prints
  if (deadline !== '' && BigInt(deadline) <= nowNs) return true
  return objects.ownedBy(uid, 'pods', 0n, LAST, MAX_COUNTED).some(({ versions: [one] }) => {
    const hasEnded = one?.gone === false && !one.facts.deleting && one.facts.prints.replicas === '0'
    return hasEnded && one.facts.prints.uncounted === 'true'
  })
}

/** Whether it is a ControllerRevision, or an old ReplicaSet scaled to 0, and its owner has more than its revisionHistoryLimit. */
function isNotKept(
  { resource }: ObjectIdentity,
  known: ObjectFacts | undefined,
  { uid }: OwnerReference,
  { prints: { keeps, template } }: ObjectFacts,
  objects: ClusterObjects,
): boolean {
  const isRevision = resource === 'controllerrevisions'
  const isOld = (facts: ObjectFacts | undefined): boolean =>
    isRevision || (facts?.prints.size === '0' && facts.prints.template !== template)
  if ((resource !== 'replicasets' && !isRevision) || keeps === undefined || !isOld(known)) return false
  const old = objects
    .ownedBy(uid, resource, 0n, LAST, MAX_COUNTED)
    .filter(({ versions: [one] }) => one?.gone === false && isOld(one.facts))
  return old.length > Number(keeps)
}

/** How soon after a write of an owner a custom controller deletes what that owner owns, by the times in managedFields. */
const CLEARS_WITHIN_NS = 5_000_000_000n

function isSignedLately(facts: Pick<ObjectFacts, 'managers'> | undefined, nowNs: bigint): boolean {
  const times = facts?.managers.map(({ time }) => parseRfc3339(time) ?? 0n) ?? []
  return times.some((time) => time + CLEARS_WITHIN_NS > nowNs)
}

/** The controller that deletes a finished Job whose ttlSecondsAfterFinished have passed, or that is beyond its CronJob's history limit. */
function whoLetsExpire(
  known: ObjectFacts | undefined,
  part: WritePart,
  nowNs: bigint,
  objects: ClusterObjects,
): string | undefined {
  const finished = known?.prints.finished ?? ''
  if (part !== 'deletion' || finished === '') return undefined
  const { expiresAt } = known?.prints ?? {}
  if (expiresAt !== undefined && BigInt(expiresAt) <= nowNs) return 'ttl-after-finished-controller'
  const owner = known?.owners.find((one) => one.controller && one.kind === 'CronJob')
  const keeps = newestOf(objects.get(owner?.uid ?? ''))?.facts.prints[`keeps ${finished}`]
  if (owner === undefined || keeps === undefined) return undefined
  const others = objects
    .ownedBy(owner.uid, 'jobs', 0n, LAST, MAX_COUNTED)
    .filter(({ versions: [one] }) => one?.gone === false && one.facts.prints.finished === finished)
  return others.length > Number(keeps) ? 'cronjob-controller' : undefined
}

export function newestOf(object: KnownObject | undefined): KnownVersion | undefined {
  return object?.versions[0]
}

/** Whether more objects exist than the owner wants, by the owner's status or by the objects that are known. */
function hasSurplus(owner: ObjectFacts, uid: string, resource: string, objects: ClusterObjects): boolean {
  const { surplus, size } = owner.prints
  if (surplus === 'true' || size === undefined) return surplus === 'true'
  const owned = objects.ownedBy(uid, resource, 0n, LAST, MAX_COUNTED)
  return (
    owned.filter(({ versions: [one] }) => one?.gone === false && one.facts.prints.replicas === '1').length >
    Number(size)
  )
}
