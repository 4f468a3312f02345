import { isDeepStrictEqual } from 'node:util'
import { ANY_RESOURCE, type ClusterObjects } from '../../model/inference-store.ts'
import {
  FINGERPRINT,
  fingerprintOf,
  type ObjectFacts,
  type ObjectIdentity,
  type OwnerReference,
  isCustomResource,
} from '../../model/kubernetes-objects.ts'
import type { Actor, ClusterWrite } from '../../model/kubernetes-observations.ts'
import { matchesOnePattern, ownValue } from '../../model/untrusted-names.ts'
import { firstManager } from './history.ts'
import { namedBy, takesHold } from './primaries.ts'
import { lastSigned } from './read-context.ts'
import { isOwnCertificate } from './self-begun.ts'
import { isDeleted } from './read-context.ts'
import {
  extendedManager,
  isUnsigned,
  newManager,
  sameManager,
  sameReporter,
  whoScales,
} from './signatures.ts'
import { disrupterOf, isForsaken, newestOf, whoDeletes, whoReacts } from './who-deletes.ts'
import type { WritePart } from './write-part.ts'
import {
  controller,
  isOfKubernetes,
  MADE_FOR,
  OF_CONTENT,
  OF_NEW,
  OF_OWNER,
  OF_STATUS,
  person,
  programOf,
  SERVICE_ACCOUNT,
  TOOLS,
  unknown,
  type Writer,
} from './writers.ts'

export interface AttributionSettings {
  /** Users or services that begin changes, though they look like controllers. Wildcards are allowed. */
  readonly operators: readonly string[]
  /** Users or services that react to changes, though they look like people. */
  readonly controllers: readonly string[]
}

const LAST = 2n ** 62n
const MAX_OWNED = 16
const NODE = /^system:node:/
/** The user that k3s and OpenShift give to people. Other names with `system:` are those of components. */
const ADMIN = 'system:admin'
export function inferWriter(
  write: ClusterWrite,
  part: WritePart,
  before: ObjectFacts | undefined,
  { objects, settings }: { objects: ClusterObjects; settings: AttributionSettings },
): Writer {
  const writer = write.request
    ? withRoleOfAccount(writerOfActor(write.request.actor), write, part, before, objects)
    : withRoleByPrimaries(guessed(write, part, before, objects), write, part, before, objects)
  const names = [writer.service, writer.user ?? '']
  const isListed = (patterns: readonly string[]): boolean =>
    names.some((name) => matchesOnePattern(patterns, name))
  if (isListed(settings.operators)) return { ...writer, role: 'operator' }
  return isListed(settings.controllers) ? { ...writer, role: 'controller' } : writer
}

/**
 * Pipelines deploy with service accounts. So the role of an account that reconciles nothing is `unknown` if it creates, deletes, or changes
 * a spec: the write begins a change unless it can follow from another one.
 */
function withRoleOfAccount(
  writer: Writer,
  { object, facts }: ClusterWrite,
  part: WritePart,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): Writer {
  const isAccount = SERVICE_ACCOUNT.test(writer.user ?? '') && writer.role === 'controller'
  if (!isAccount || isOfKubernetes(writer.service)) return writer
  // Without the status subresource, the generation of a custom resource also counts changes of its status.
  const hasStatus = facts?.managers.some(({ subresource }) => subresource === 'status') === true
  const countsWanted = !isCustomResource(object.apiVersion) || hasStatus
  const isWanted = countsWanted && (facts?.generation ?? 0) > (before?.generation ?? 0)
  const mayBegin = part === 'deletion' || (part === 'creation' && !isOwnCertificate(facts)) || isWanted
  const isUnknown = mayBegin && !looksAfter(writer, object, facts, part, before, objects)
  return isUnknown ? { ...writer, role: 'unknown' } : writer
}

/** Whether a writer is known to reconcile custom resources, or sets a finalizer on one with this write. */
function looksAfter(
  { service }: Writer,
  object: ObjectIdentity,
  facts: ObjectFacts | undefined,
  part: WritePart,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): boolean {
  if (objects.primariesOf(programOf(service)).length > 0) return true
  return part === 'authored' && takesHold(object, facts, before)
}

/**
 * A writer that reconciles custom resources is not a person. A writer that does not, and writes the status of a custom resource that
 * another controller reconciles, or writes what such a resource owns, is a person.
 */
function withRoleByPrimaries(
  writer: Writer,
  { object, facts }: ClusterWrite,
  part: WritePart,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): Writer {
  if (writer.role !== 'unknown' || writer.service === 'unknown') return writer
  const isController =
    looksAfter(writer, object, facts, part, before, objects) ||
    (part === 'status' && isFirstStatus(object, before)) ||
    (part === 'authored' && notesAgain(writer, object, facts, before))
  if (isController) return { ...writer, role: 'controller' }
  const owner = facts?.owners.find((one) => one.controller)
  // Besides Kubernetes' own controller, only a person creates an object of this resource for such an owner.
  const isOfKubernetes = owner && ownValue(MADE_FOR, owner.kind) === object.resource
  if (part === 'creation' && isOfKubernetes) return { ...writer, role: 'operator' }
  const isMadeByHand = part === 'creation' && !!facts && isOwnedByHand(facts, objects)
  const isOfOwnAlone = OF_OWN_ALONE.has(object.resource) && !isCustomResource(object.apiVersion)
  const isSaidByHand =
    isOfOwnAlone ||
    changesPodOfOther(object, facts, before, writer.service) ||
    isApprovedByHand(object, facts, before)
  if (isMadeByHand || (part === 'status' && isSaidByHand)) return { ...writer, role: 'operator' }
  const ofOwner = owner && objects.get(owner.uid)?.identity.resource
  const lookedAfter = part === 'status' ? object.resource : part === 'authored' ? ofOwner : undefined
  const isOfOthers = lookedAfter !== undefined && objects.lookingAfter(lookedAfter).length > 0
  return isOfOthers ? { ...writer, role: 'operator' } : writer
}

/** Built-in resources whose status no program but Kubernetes itself writes. */
const OF_OWN_ALONE: ReadonlySet<string> = new Set([
  ...['deployments', 'replicasets', 'replicationcontrollers', 'statefulsets', 'daemonsets', 'cronjobs'],
  ...['horizontalpodautoscalers', 'poddisruptionbudgets', 'resourcequotas', 'namespaces'],
])

/** The first status of a custom resource is its controller's, even if that has another name than what made objects for the resource. */
function isFirstStatus({ apiVersion }: ObjectIdentity, before: ObjectFacts | undefined): boolean {
  const isReported = before?.managers.some(({ subresource }) => subresource === 'status')
  return isReported === false && isCustomResource(apiVersion)
}

/** Whether a program that did not make a Pod annotates or labels it once more. Programs in a Pod note their state there, such as Patroni. */
function notesAgain(
  { service }: Writer,
  { resource }: ObjectIdentity,
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
): boolean {
  if (resource !== 'pods' || facts?.generation !== before?.generation) return false
  const hasNoted = before?.managers.some(
    ({ manager, subresource }) => manager === service && subresource === '',
  )
  return hasNoted === true && firstManager(before) !== service
}

/** Whether all owners are known built-in objects and none of them is the controller owner. */
function isOwnedByHand({ owners }: ObjectFacts, objects: ClusterObjects): boolean {
  const isByHand = ({ uid, controller: isController }: OwnerReference): boolean => {
    const owner = objects.get(uid)?.identity
    return !isController && owner !== undefined && !isCustomResource(owner.apiVersion)
  }
  return owners.length > 0 && owners.every(isByHand)
}

/** Programs approve a CertificateSigningRequest this soon after its last write; people take longer. */
const APPROVES_WITHIN_NS = 3_000_000_000n

function isApprovedByHand(
  { resource }: ObjectIdentity,
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
): boolean {
  if (resource !== 'certificatesigningrequests' || facts === undefined || before === undefined) return false
  return lastSigned(facts) - lastSigned(before) > APPROVES_WITHIN_NS
}

/** Whether a Pod ended or its readiness changed, and the writer is not the manager that reported the Pod's status first: its kubelet. */
function changesPodOfOther(
  { resource }: ObjectIdentity,
  facts: ObjectFacts | undefined,
  before: ObjectFacts | undefined,
  service: string,
): boolean {
  if (resource !== 'pods' || facts === undefined || before === undefined || facts.deleting) return false
  const hasEnded = fingerprintOf(before, 'replicas') === '1' && fingerprintOf(facts, 'replicas') === '0'
  const isFlipped = fingerprintOf(before, 'ready') !== fingerprintOf(facts, 'ready')
  const [first, ...others] = before.managers.filter(
    ({ manager, subresource }) =>
      subresource === 'status' && (manager === 'kubelet' || !isOfKubernetes(manager)),
  )
  const kubelet = others.reduce((one, other) => (other.time < (one?.time ?? '') ? other : one), first)
  return (hasEnded || isFlipped) && kubelet !== undefined && kubelet.manager !== service
}

function writerOfActor({ user, userAgent }: Actor): Writer {
  const [named = ''] = userAgent.split('/', 1)
  // helm is called `Helm` in a User-Agent and `helm` in managedFields.
  const program = named === 'Helm' ? 'helm' : named
  const [, , account] = SERVICE_ACCOUNT.exec(user) ?? []
  if (TOOLS.test(program)) return { service: program, user, role: 'operator' }
  if (account !== undefined) return { service: account, user, role: 'controller' }
  if (NODE.test(user)) return { service: 'kubelet', user, role: 'controller' }
  if (user.startsWith('system:') && user !== ADMIN)
    return { service: user.slice('system:'.length), user, role: 'controller' }
  return { service: program === '' ? user : program, user, role: 'operator' }
}

/** Guesses the writer by the new entry in managedFields, else by what the write does. */
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
      ? (firstManager(write.facts) ?? whoMakesFor(write.facts, objects))
      : (newManager(write.facts, before, part) ?? extendedManager(write.facts, before, part))?.manager
  if (part === 'authored' && signed === undefined && isDisowned(write, before, objects)) return person()
  const owning = part === 'authored' ? whoOwns(write, before, objects) : undefined
  if (owning !== undefined && (signed === undefined || signed === 'kube-controller-manager'))
    return controller(owning)
  const usual = usualWriter(write, part, before, objects)
  if (isUnsigned(write, part, before)) {
    const remover =
      whoKeepsBounds(write, before, objects) ??
      whoReacts(write, before, programsOf(write, before, objects), objects) ??
      whoTakesAway(write, before, objects)
    if (remover !== undefined) return remover
  }
  // The deployment controller notes the revision within the second of each new template. The author of the template did not write again.
  const isNote = part === 'authored' && usual === 'deployment-controller'
  const isOwnTaint = usual === 'node-controller'
  const program =
    signed ??
    whoScales(write.facts, before) ??
    (isNote || isOwnTaint ? undefined : sameManager(write.facts, part)) ??
    (usual === undefined ? sameReporter(write, part) : undefined)
  if (program !== undefined && TOOLS.test(program))
    return { service: 'kubectl', user: undefined, role: 'operator' }
  if (program !== undefined && program !== 'kube-controller-manager') {
    return { service: program, user: undefined, role: isOfKubernetes(program) ? 'controller' : 'unknown' }
  }
  if (program === 'kube-controller-manager' && part === 'status') {
    const standing = whoStandsIn(write, before, objects)
    if (standing !== undefined) return controller(standing)
  }
  if (usual !== undefined) return controller(usual)
  return program === undefined ? unknown() : controller(program)
}

/** The program that reconciles the owner, for objects without managedFields. */
function whoMakesFor(facts: ObjectFacts | undefined, objects: ClusterObjects): string | undefined {
  const owner = facts?.owners.find((one) => one.controller)
  return objects.lookingAfter(objects.get(owner?.uid ?? '')?.identity.resource ?? '')[0]
}

/** The controller within kube-controller-manager that writes the status of a node or a Pod in place of the kubelet. */
function whoStandsIn(
  { object, facts }: ClusterWrite,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): string | undefined {
  if (object.resource === 'nodes') return 'node-controller'
  if (isForsaken(object, before, objects)) return 'pod-garbage-collector'
  const isLost = object.resource === 'pods' && before?.prints.ready === '1' && facts?.prints.ready === '0'
  return isLost && disrupterOf(facts) === undefined ? 'node-controller' : undefined
}

/** The programs that have written an object, and those that reconcile an object that names it. */
function programsOf(
  { object, facts }: ClusterWrite,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): string[] {
  const managers = [...(before?.managers ?? []), ...(facts?.managers ?? [])].map(({ manager }) => manager)
  const naming = namedBy(object, ANY_RESOURCE, objects).map(({ identity }) => identity.resource)
  const lookingAfter = [...new Set(naming)].flatMap((resource) => objects.lookingAfter(resource))
  return [...new Set([...managers, ...lookingAfter])]
}

/** Replicas outside of the autoscaler's bounds are set to the nearest bound. Such a scaling may leave no entry in `managedFields`. */
function whoKeepsBounds(
  { object, facts }: ClusterWrite,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): Writer | undefined {
  const [then, now] = [before, facts].map((of) => Number(of?.prints.scale ?? 0))
  const [autoscaler] = objects.naming('target', 'horizontalpodautoscalers', object, 1)
  const [least, most] = newestOf(autoscaler)?.facts.prints.bounds?.split(' ').map(Number) ?? []
  if (!then || now === undefined || least === undefined || most === undefined) return undefined
  const isRaised = then < least && now === least
  return isRaised || (then > most && now === most) ? controller('horizontal-pod-autoscaler') : undefined
}

/**
 * Who removed fields: taints the node controller, owners the garbage collector, counts that fell to 0 the program that reconciles the
 * object; other content, and other statuses of custom resources, a person. Undefined for the rest, such as finalizers.
 */
function whoTakesAway(
  { object, facts }: ClusterWrite,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): Writer | undefined {
  if (facts === undefined || before === undefined) return undefined
  const isChanged = (print: string): boolean => fingerprintOf(facts, print) !== fingerprintOf(before, print)
  if (isChanged('taints')) return controller('node-controller')
  if (hasLostOwners(facts, before, objects)) return controller('generic-garbage-collector')
  if (object.resource === 'clusterroles' && facts.selects !== undefined)
    return controller('clusterrole-aggregation-controller')
  const [now, then] = [facts, before].map(
    (of) => of.references.filter(({ field }) => field === 'pods').length,
  )
  if (isChanged('held') || now !== then) return undefined
  const isAuthored = isChanged(FINGERPRINT.authored)
  // Many statuses leave out a count that falls to 0.
  const counting = isAuthored ? undefined : whoCounts(object, objects)
  if (counting !== undefined) return controller(counting)
  return isAuthored || isCustomResource(object.apiVersion) ? person() : undefined
}

/** The program that reconciles an object, if what the object owns, or what that owns in turn, has changed since the object was written. */
function whoCounts({ uid, resource }: ObjectIdentity, objects: ClusterObjects): string | undefined {
  const [program] = objects.lookingAfter(resource)
  const since = newestOf(objects.get(uid))?.version
  if (program === undefined || since === undefined) return undefined
  const owned = objects.ownedBy(uid, ANY_RESOURCE, 0n, LAST, MAX_OWNED).map(({ identity }) => identity.uid)
  const isNews = [uid, ...owned].some((one) => objects.ownedBy(one, ANY_RESOURCE, since, LAST, 1).length > 0)
  return isNews ? program : undefined
}

/** Whether owners were removed, and all the removed ones are deleted or being deleted. */
function hasLostOwners(facts: ObjectFacts, before: ObjectFacts, objects: ClusterObjects): boolean {
  const lost = before.owners.filter(({ uid }) => facts.owners.every((owner) => owner.uid !== uid))
  return lost.length > 0 && lost.every(({ uid }) => isDeleted(newestOf(objects.get(uid))))
}

/** Who changed the controller owner: the controller of that owner; the garbage collector if the former one is deleted. Else undefined. */
function whoOwns(
  { object, facts }: ClusterWrite,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): string | undefined {
  if (facts === undefined || before === undefined) return undefined
  const [now, former] = [facts, before].map(({ owners }) => owners.find((one) => one.controller))
  if (now?.uid === former?.uid) return undefined
  if (now === undefined && isDeleted(newestOf(objects.get(former?.uid ?? ''))))
    return 'generic-garbage-collector'
  const { kind = '' } = now ?? former ?? {}
  // Claims that a StatefulSet does not retain are owned by its Pods or by it.
  return object.resource === 'persistentvolumeclaims' ? 'statefulset-controller' : ownValue(OF_OWNER, kind)
}

/** Whether a person removed the controller owner: it exists and the labels never changed. Controllers release what they do not select. */
function isDisowned(
  { object: { uid }, facts }: ClusterWrite,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): boolean {
  const [now, former] = [facts, before].map((of) => of?.owners.find((one) => one.controller))
  if (former === undefined || now !== undefined || facts?.labels === undefined) return false
  if (isDeleted(newestOf(objects.get(former.uid)))) return false
  const isOwned = (of: ObjectFacts): boolean => of.owners.some((one) => one.uid === former.uid)
  const owned = objects.get(uid)?.versions.filter((one) => isOwned(one.facts)) ?? []
  return owned.every((one) => isDeepStrictEqual(one.facts.labels, facts.labels))
}

/** The controller that usually makes such a write, if there is one. */
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
  const owner = facts?.owners.find((one) => one.controller)
  // The finalizer that a Pod has until its Job's controller has counted it.
  if (part === 'authored' && owner?.kind === 'Job' && facts?.prints.held !== before?.prints.held)
    return ownValue(OF_OWNER, owner.kind)
  if (part === 'authored' && owner?.kind === 'Endpoints') return ownValue(OF_OWNER, owner.kind)
  if (part === 'authored' && resource === 'nodes' && facts?.prints.taints !== before?.prints.taints)
    return 'node-controller'
  if (part === 'status') {
    const isNew = facts?.prints.evicted !== before?.prints.evicted
    const isUnscheduled = resource === 'pods' && (facts?.prints.pending ?? '') !== ''
    return (
      (isNew ? disrupterOf(facts) : undefined) ??
      (isUnscheduled ? 'kube-scheduler' : ownValue(OF_STATUS, resource))
    )
  }
  const usual = ownValue(OF_CONTENT, resource)
  if (usual !== undefined || facts?.prints.template !== before?.prints.template) return usual
  if (facts?.prints.scale === before?.prints.scale) {
    // The deployment controller notes the revision in an annotation, which does not raise the generation.
    const isNote = resource === 'deployments' && (facts?.generation ?? 0) <= (before?.generation ?? 0)
    return isNote ? 'deployment-controller' : undefined
  }
  const isScaled = objects.naming('target', 'horizontalpodautoscalers', object, 1).length > 0
  return isScaled ? 'horizontal-pod-autoscaler' : undefined
}
