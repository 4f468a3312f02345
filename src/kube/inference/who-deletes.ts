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

export function disrupterOf(facts: ObjectFacts | undefined): string | undefined {
  return ownValue(OF_DISRUPTION, facts?.prints.evicted ?? '')
}

/**
 * A kubelet removes terminating Pods. The garbage collector deletes objects without an owner. The owner's controller deletes the surplus
 * of an owner.
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
  const [expiring] =
    expiresAt !== undefined && BigInt(expiresAt) <= seenNs ? objects.lookingAfter(object.resource) : []
  if (expiring !== undefined) return controller(expiring)
  const isNamespaceGoing = isDeleted(newestOf(objects.named('namespaces', '', object.namespace)))
  if (isNamespaceGoing) return controller('namespace-controller')
  // The controller that created it also deletes it, together with what it was created for.
  const first = firstManager(known)
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
    unknown()
  )
}

/** Its owner's controller deletes it: there are too many, it is to be replaced, or it is of no use any more. */
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
    // A kubelet that deletes by name may hit the new Pod instead of the old one, without a grace period.
    ((gone || !isRenewed(before, owner)) &&
      !isOutOfTurn(object, reference, owner, objects) &&
      hasSurplus(owner, uid, object.resource, objects))
  )
}

/** A Pod that its kubelet has ended, and that its Job's controller has still to count. */
function isUncounted({ resource }: ObjectIdentity, before: ObjectFacts | undefined): boolean {
  return resource === 'pods' && before?.prints.atOnce === 'true' && before.prints.uncounted === 'true'
}

/** A namespace in which something is left: its controller removes it once that has gone. */
function isFilled(before: ObjectFacts | undefined, objects: ClusterObjects): boolean {
  const remaining = before?.references.filter(({ field }) => field === 'remaining') ?? []
  return remaining.some(({ resource, namespace }) =>
    objects
      .changedIn(resource, namespace, 0n, LAST, MAX_COUNTED)
      .some((object) => newestOf(object)?.gone === false),
  )
}

/** A Pod that goes and whose node is gone, or is out of service: no kubelet ends it. */
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
 * People set what holds the object back: with a tool, or with a program that made the object so, looks after nothing, and is not called a
 * controller. Controllers put finalizers on what others made.
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

/** Who wrote the content of an object, if nobody but controllers of custom resources did. */
function programsThatMade(facts: ObjectFacts | undefined, objects: ClusterObjects): string[] {
  const authors = facts?.managers.filter(({ subresource }) => subresource === '') ?? []
  const programs = [...new Set(authors.map(({ manager }) => manager))]
  const isController = (one: string): boolean =>
    !TOOLS.test(one) && objects.primariesOf(programOf(one)).length > 0
  return programs.every(isController) ? programs : []
}

/** How long after somebody has changed what it looks after a controller acts upon that, by the clock of managedFields. */
const REACTS_WITHIN_NS = 3_000_000_000n

/** A program for which there is news: somebody has just changed what it looks after and an object belongs to, or what that names. */
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
        // That something has gone which it only names says nothing of when.
        const references = newestOf(primary)?.facts.references ?? []
        const named = namedIn(references, primary.identity, program, objects)
        const changed = [primary, ...named.map((one) => one.object)]
        return isEnding(program, primary) || changed.some((one) => isJustChanged(program, one))
      })
  })
  return reacting === undefined ? undefined : controller(reacting)
}

/** The controller that made an object without an owner, if it has just written something of what it looks after beside it. */
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

/** The program that looks after what the object belongs to, if that is going or gone, until all that it made for that is gone. */
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

/** A StatefulSet wants another revision of the Pod, and leaves it to others to delete it. */
function isOutdated(pod: ObjectFacts | undefined, set: ObjectFacts | undefined): boolean {
  const wanted = set?.prints.renewedTo
  if (pod === undefined || set === undefined || wanted === undefined) return false
  const isUnseen = Number(set.prints.observed ?? 0) < set.generation
  return isUnseen || pod.labels?.['controller-revision-hash'] !== wanted
}

/**
 * The program that looks after what a Pod's StatefulSet belongs to, if it has just written one of the three; or if somebody has just
 * written the StatefulSet, and the program has marked the Pod since it wrote the StatefulSet itself.
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

/** The program that looks after the owner of a Pod's owner, if a Pod of the group that the Pod leads has just begun to go. */
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

/** The namespace has changed since the object was last written: its owner, which is in none, may not select it any more. */
function isNewsIn({ uid, namespace }: ObjectIdentity, objects: ClusterObjects): boolean {
  const changed = newestOf(objects.named('namespaces', '', namespace))?.contentVersion
  const written = newestOf(objects.get(uid))?.version
  return changed !== undefined && written !== undefined && changed > written
}

/** The object that something is applied from by its creator, which deletes what is no longer in git. */
function applierOf({ references }: ObjectFacts, objects: ClusterObjects): KnownVersion | undefined {
  const named = references.find(({ field }) => field === 'applied from')
  return named && newestOf(objects.named(named.resource, named.namespace, named.name))
}

/** It has owners, and all of them are gone or terminating, whether or not one of them is its controller. */
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
 * A StatefulSet replaces its Pods one after the other, from the highest number down. While a Pod with a higher number is not ready, it
 * deletes none. Those below a partition it does not replace.
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

/** The Pod is of its owner's newest revision, so the owner's controller keeps it. */
function isRenewed(pod: ObjectFacts | undefined, { prints: { renewed } }: ObjectFacts): boolean {
  const [label = '', value] = renewed?.split('=') ?? []
  return value !== undefined && pod?.prints.replicas === '1' && ownValue(pod.labels ?? {}, label) === value
}

/** Its StatefulSet wants no Pod of its number. */
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

/** They delete Pods that have ended, to run others in their place. */
const REPLACES_ENDED: ReadonlySet<string> = new Set(['StatefulSet', 'DaemonSet'])

function hasEnded({ resource }: ObjectIdentity, known: ObjectFacts | undefined): boolean {
  return resource === 'pods' && known?.prints.replicas === '0' && !known.deleting
}

/** Its node is gone, or no longer has the labels that its DaemonSet requires. False if nothing is known of the node. */
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

/** The time of a Job is over, or one of its Pods has ended and its controller has not yet counted it: that may end the Job. */
function isEnding(job: ObjectFacts, uid: string, nowNs: bigint, objects: ClusterObjects): boolean {
  const { deadline = '' } = job.prints
  if (deadline !== '' && BigInt(deadline) <= nowNs) return true
  return objects.ownedBy(uid, 'pods', 0n, LAST, MAX_COUNTED).some(({ versions: [one] }) => {
    const hasEnded = one?.gone === false && !one.facts.deleting && one.facts.prints.replicas === '0'
    return hasEnded && one.facts.prints.uncounted === 'true'
  })
}

/** It is only history: a revision, or a ReplicaSet without Pods, beside as many as its owner keeps. */
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

/** How long after writing an object a custom controller deletes what that object owns. */
const CLEARS_WITHIN_NS = 5_000_000_000n

function isSignedLately(facts: Pick<ObjectFacts, 'managers'> | undefined, nowNs: bigint): boolean {
  const times = facts?.managers.map(({ time }) => parseRfc3339(time) ?? 0n) ?? []
  return times.some((time) => time + CLEARS_WITHIN_NS > nowNs)
}

/** A Job whose time to live is over, or which its CronJob no longer keeps. */
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

/** More exist than are wanted, by the owner's status or by what was observed. */
function hasSurplus(owner: ObjectFacts, uid: string, resource: string, objects: ClusterObjects): boolean {
  const { surplus, size } = owner.prints
  if (surplus === 'true' || size === undefined) return surplus === 'true'
  const owned = objects.ownedBy(uid, resource, 0n, LAST, MAX_COUNTED)
  return (
    owned.filter(({ versions: [one] }) => one?.gone === false && one.facts.prints.replicas === '1').length >
    Number(size)
  )
}

/** If a list shows an object for the first time, others may have written it since it was created. */
export function firstManager(facts: ObjectFacts | undefined): string | undefined {
  const authors = facts?.managers.filter(({ subresource }) => subresource === '') ?? []
  const [first, ...others] = authors
  return others.reduce((earliest, one) => (one.time < (earliest?.time ?? '') ? one : earliest), first)
    ?.manager
}
