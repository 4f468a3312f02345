import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
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
import { clearsUpAfter, takesHold } from './primaries.ts'

/**
 * What of an object a write is about.
 * - creation, authored: what an author writes, for the first time or again.
 * - status, scale, binding: those subresources.
 * - deletion: it begins to go, goes at once, or is marked to go.
 * - removal: it is gone, after it began to, or has less time left for that.
 * - heartbeat: nothing changed but when its writer lived last.
 */
export type WritePart =
  'creation' | 'authored' | 'status' | 'scale' | 'binding' | 'deletion' | 'removal' | 'heartbeat'

/** `before` are the facts of the version before, where one is known. */
export function partOfWrite(write: ClusterWrite, before: ObjectFacts | undefined): WritePart {
  const { request, facts, gone } = write
  if (gone) return before?.deleting === true ? 'removal' : 'deletion'
  if (facts?.deleting === true && before?.deleting !== true) return 'deletion'
  if (before !== undefined && isMarkedAsEvicted(facts) && !isMarkedAsEvicted(before)) return 'deletion'
  if (request?.verb === 'delete') return before?.deleting === true ? 'removal' : 'deletion'
  const asked = request && partOfSubresource(request.subresource)
  if (asked !== undefined && asked !== 'status') return asked
  if (request?.verb === 'create' || (before === undefined && asked === undefined)) return 'creation'
  if (facts === undefined || before === undefined) return asked ?? 'authored'
  if (asked !== 'status') return partThatChanged(facts, before)
  // Controllers write annotations along with a status.
  return changed(FINGERPRINT.authored, facts, before) ? 'status' : statusOr('heartbeat', facts, before)
}

function partThatChanged(facts: ObjectFacts, before: ObjectFacts): WritePart {
  if (changed('node', facts, before) && before.prints.node === '') return 'binding'
  // Controllers write annotations along with a status; what an author writes makes a new generation.
  const isStatus = facts.generation === before.generation && changed(FINGERPRINT.status, facts, before)
  if (isStatus || !changed(FINGERPRINT.authored, facts, before)) return statusOr('authored', facts, before)
  return before.deleting ? 'removal' : 'authored'
}

/** A write of a status may have changed nothing but heartbeats; a write that changed nothing at all is one of those. */
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

/** Who made a write: under which name its work is shown, and whether it reacts to others or begins a change. */
export interface Writer {
  /** `replicaset-controller`, `kube-scheduler`, `kubectl`. */
  readonly service: string
  /** As the API server knows it; undefined where only a watch saw the write. */
  readonly user: string | undefined
  readonly role: 'controller' | 'operator' | 'unknown'
}

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
/** Programs that people and pipelines use: what they write begins a change, whoever's credentials they have. */
const TOOLS = /^(?:kubectl|helm|oc|k9s|lens|terraform|pulumi|Mozilla|curl)\b/i

const KUBERNETES = /^(?:kube-scheduler|kubelet|cloud-controller-manager|kube-apiserver)$/

/** Which controllers write a status, where the name of the process does not tell them apart. */
const OF_STATUS: Readonly<Record<string, string>> = {
  deployments: 'deployment-controller',
  replicasets: 'replicaset-controller',
  statefulsets: 'statefulset-controller',
  daemonsets: 'daemon-set-controller',
  pods: 'kubelet',
  nodes: 'kubelet',
  jobs: 'job-controller',
  cronjobs: 'cronjob-controller',
  horizontalpodautoscalers: 'horizontal-pod-autoscaler',
  namespaces: 'namespace-controller',
  persistentvolumeclaims: 'persistent-volume-binder',
  persistentvolumes: 'persistent-volume-binder',
}
/** Which controllers write what an author would. */
const OF_CONTENT: Readonly<Record<string, string>> = {
  replicasets: 'deployment-controller',
  endpointslices: 'endpointslice-controller',
  endpoints: 'endpoint-controller',
  persistentvolumeclaims: 'persistent-volume-binder',
  persistentvolumes: 'persistent-volume-binder',
}
/** Which controllers make what nobody owns. */
const OF_NEW: Readonly<Record<string, string>> = {
  endpoints: 'endpoint-controller',
  persistentvolumeclaims: 'statefulset-controller',
  'serviceaccounts/default': 'service-account-controller',
  'configmaps/kube-root-ca.crt': 'root-ca-cert-publisher',
}
/** Who deletes a Pod after saying so in its condition DisruptionTarget, by the reason that stands there. */
const OF_DISRUPTION: Readonly<Record<string, string>> = {
  DeletionByTaintManager: 'node-controller',
  DeletionByPodGC: 'pod-garbage-collector',
  PreemptionByScheduler: 'kube-scheduler',
}
const OF_REMOVAL: Readonly<Record<string, string>> = {
  pods: 'kubelet',
  namespaces: 'namespace-controller',
}
const OF_OWNER: Readonly<Record<string, string>> = {
  Deployment: 'deployment-controller',
  ReplicaSet: 'replicaset-controller',
  StatefulSet: 'statefulset-controller',
  DaemonSet: 'daemon-set-controller',
  Job: 'job-controller',
  CronJob: 'cronjob-controller',
  Service: 'endpointslice-controller',
}

const OTHERS_OF_KUBERNETES = [
  ...['attachdetach-controller', 'certificate-controller', 'clusterrole-aggregation-controller'],
  ...['disruption-controller', 'endpointslicemirroring-controller', 'ephemeral-volume-controller'],
  ...['expand-controller', 'legacy-service-account-token-cleaner', 'pod-garbage-collector'],
  ...['pv-protection-controller', 'pvc-protection-controller', 'replication-controller'],
  ...[
    'resource-claim-controller',
    'resourcequota-controller',
    'route-controller',
    'service-cidrs-controller',
  ],
  ...[
    'service-controller',
    'storage-version-migrator-controller',
    'taint-eviction-controller',
    'token-cleaner',
  ],
  ...['ttl-after-finished-controller', 'ttl-controller', 'validatingadmissionpolicy-status-controller'],
  ...['generic-garbage-collector', 'kube-apiserver', 'apiserver', 'kube-controller-manager', 'unknown'],
]
const OF_KUBERNETES: ReadonlySet<string> = new Set([
  ...[OF_STATUS, OF_CONTENT, OF_NEW, OF_DISRUPTION, OF_REMOVAL, OF_OWNER].flatMap(Object.values<string>),
  ...OTHERS_OF_KUBERNETES,
])

/** Whether a service is a part of Kubernetes itself, of which the table of relations knows what it reads. */
export function isOfKubernetes(service: string): boolean {
  return OF_KUBERNETES.has(service) || KUBERNETES.test(service)
}

/**
 * The program that a service is a part of: controllers of one program look after the same objects, and each signs with a name of its
 * own. `cert-manager` of `cert-manager-certificates-issuing`.
 */
export function programOf(service: string): string {
  const [first, second, ...more] = service.split('-')
  return more.length === 0 || isOfKubernetes(service) ? service : `${first}-${second}`
}

const LAST = 2n ** 62n
const MAX_COUNTED = 1_000

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
  const usual = usualWriter(write, part, before, objects)
  if (isUnsigned(write, part, before)) {
    const remover = whoTakesAway(write, before)
    if (remover !== undefined) return remover
  }
  // Within the second of every new template its controller notes the revision, which is no author's second write.
  const isNote = part === 'authored' && usual === 'deployment-controller'
  const signed =
    part === 'creation' ? firstManager(write.facts) : newManager(write.facts, before, part)?.manager
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
  const [now, then] = [facts, before].map(
    (of) => of.references.filter(({ field }) => field === 'pods').length,
  )
  if (isChanged('held') || now !== then) return undefined
  const isAuthored = isChanged(FINGERPRINT.authored)
  return isAuthored || isCustomResource(object.apiVersion)
    ? { service: 'unknown', user: undefined, role: 'operator' }
    : undefined
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

function disrupterOf(facts: ObjectFacts | undefined): string | undefined {
  return ownValue(OF_DISRUPTION, facts?.prints.evicted ?? '')
}

/** A kubelet removes what began to go. What lost its owner is garbage; what its owner has too many of, its owner's. */
function whoDeletes(
  { object, facts, seenNs }: ClusterWrite,
  part: WritePart,
  before: ObjectFacts | undefined,
  objects: ClusterObjects,
): Writer {
  if (part === 'removal') {
    const remover = ownValue(OF_REMOVAL, object.resource)
    return remover === undefined ? unknown() : controller(remover)
  }
  const known = facts ?? before
  if (part === 'deletion' && isMarkedAsEvicted(known)) return unknown()
  const reference = known?.owners.find((one) => one.controller)
  const owner = newestOf(objects.get(reference?.uid ?? ''))
  if (isGoing(owner)) return controller('generic-garbage-collector')
  // The API server deletes Endpoints along with their Service itself.
  if (
    object.resource === 'endpoints' &&
    isGoing(newestOf(objects.named('services', object.namespace, object.name)))
  )
    return controller('kube-apiserver')
  const maker =
    owner !== undefined &&
    reference !== undefined &&
    hasSurplus(owner.facts, reference.uid, object.resource, objects)
      ? ownValue(OF_OWNER, reference.kind)
      : undefined
  const usual = disrupterOf(known) ?? maker ?? whoLetsExpire(known, part, objects)
  if (usual !== undefined) return controller(usual)
  const isEnding = isGoing(newestOf(objects.named('namespaces', '', object.namespace)))
  if (isEnding) return controller('namespace-controller')
  // Who made it takes it away with what it was made for.
  const first = firstManager(known)
  if (first !== undefined && clearsUpAfter(object, known, programOf(first), objects)) return controller(first)
  const [lookingAfter] = isSignedLately(owner?.facts, seenNs)
    ? objects.lookingAfter(objects.get(reference?.uid ?? '')?.identity.resource ?? '')
    : []
  return lookingAfter === undefined ? unknown() : controller(lookingAfter)
}

/** How long after it has written an object a custom controller takes away what that owns. */
const CLEARS_WITHIN_NS = 5_000_000_000n

function isSignedLately(facts: ObjectFacts | undefined, nowNs: bigint): boolean {
  const times = facts?.managers.map(({ time }) => parseRfc3339(time) ?? 0n) ?? []
  return times.some((time) => time + CLEARS_WITHIN_NS > nowNs)
}

/** A Job whose time to live is over, or of which its CronJob keeps no more. */
function whoLetsExpire(
  known: ObjectFacts | undefined,
  part: WritePart,
  objects: ClusterObjects,
): string | undefined {
  const finished = known?.prints.finished ?? ''
  if (part !== 'deletion' || finished === '') return undefined
  if (known?.prints.expires === 'true') return 'ttl-after-finished-controller'
  const owner = known?.owners.find((one) => one.controller && one.kind === 'CronJob')
  const keeps = newestOf(objects.get(owner?.uid ?? ''))?.facts.prints[`keeps ${finished}`]
  if (owner === undefined || keeps === undefined) return undefined
  const others = objects
    .ownedBy(owner.uid, 'jobs', 0n, LAST, MAX_COUNTED)
    .filter(({ versions: [one] }) => one?.gone === false && one.facts.prints.finished === finished)
  return others.length > Number(keeps) ? 'cronjob-controller' : undefined
}

function newestOf(object: KnownObject | undefined): KnownVersion | undefined {
  return object?.versions[0]
}

function isGoing(version: KnownVersion | undefined): boolean {
  return version !== undefined && (version.gone || version.facts.deleting)
}

/** More are there than are wanted, by what its status says or by what is seen of them. */
function hasSurplus(owner: ObjectFacts, uid: string, resource: string, objects: ClusterObjects): boolean {
  const { surplus, size } = owner.prints
  if (surplus === 'true' || size === undefined) return surplus === 'true'
  const owned = objects.ownedBy(uid, resource, 0n, LAST, MAX_COUNTED)
  return (
    owned.filter(({ versions: [one] }) => one?.gone === false && one.facts.prints.replicas === '1').length >
    Number(size)
  )
}

function unknown(service = 'unknown'): Writer {
  return { service, user: undefined, role: 'unknown' }
}

/** Where a list shows an object for the first time, others may have written it since it was made. */
function firstManager(facts: ObjectFacts | undefined): string | undefined {
  const authors = facts?.managers.filter(({ subresource }) => subresource === '') ?? []
  const [first, ...others] = authors
  return others.reduce((earliest, one) => (one.time < (earliest?.time ?? '') ? one : earliest), first)
    ?.manager
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

function controller(service: string): Writer {
  return { service, user: undefined, role: 'controller' }
}

const BY_API = 'EvictionByEvictionAPI'

/** The API server marks a Pod that somebody evicts, in a version of its own, and deletes it then: two versions of one request. */
export function isMarkedAsEvicted(facts: ObjectFacts | undefined): boolean {
  return facts !== undefined && fingerprintOf(facts, 'evicted') === BY_API
}

/** It is the second version of an eviction, whose first is the version before. */
export function completesEviction(
  { request }: ClusterWrite,
  part: WritePart,
  before: KnownVersion | undefined,
): boolean {
  const isOfEviction = request === undefined || request.subresource === 'eviction'
  return part === 'deletion' && isOfEviction && isMarkedAsEvicted(before?.facts)
}
