import type { ContentReference, LabelSelector } from '../../model/kubernetes-objects.ts'
import { parseRfc3339 } from '../../model/time-and-size.ts'
import {
  annotationsOf,
  conditionOf,
  type Content,
  expiryOf,
  hasCondition,
  MAX_NAMES,
  selectorOf,
  textsOf,
} from './content.ts'
import { fingerprintOf } from './content-prints.ts'
import { arrayIn, type JsonObject, namespaceOf, numberIn, objectIn, textIn } from './object-json.ts'

/** The facts of workloads: the template of their Pods, the wanted number, and the current number. */
export const WORKLOADS: Readonly<Record<string, (object: JsonObject) => Content>> = {
  Deployment: deploymentContent,
  ReplicaSet: replicaSetContent,
  ReplicationController: replicaSetContent,
  StatefulSet: statefulSetContent,
  DaemonSet: daemonSetContent,
  Job: jobContent,
  CronJob: cronJobContent,
  ControllerRevision: (object) => withTemplate(objectIn(object, 'data'), ''),
}

const HASH_LABELS = new Set(['pod-template-hash', 'controller-revision-hash', 'pod-template-generation'])

/** The template of a workload without the labels that distinguish its children, and the wanted number. */
function withTemplate(object: JsonObject, wanted: number | string): Content {
  const template = objectIn(objectIn(object, 'spec'), 'template')
  const metadata = objectIn(template, 'metadata')
  const labels = Object.entries(objectIn(metadata, 'labels')).filter(([key]) => !HASH_LABELS.has(key))
  const print = fingerprintOf({
    labels: Object.fromEntries(labels),
    annotations: objectIn(metadata, 'annotations'),
    spec: objectIn(template, 'spec'),
  })
  return { references: [], prints: { template: print, ...(wanted !== '' && { wanted: String(wanted) }) } }
}

/** The ConfigMaps and Secrets that its Pods take settings from. */
function settingsOf(object: JsonObject): ContentReference[] {
  const spec = objectIn(objectIn(objectIn(object, 'spec'), 'template'), 'spec')
  const containers = ['containers', 'initContainers'].flatMap((key) => arrayIn(spec, key).slice(0, MAX_NAMES))
  const variables = containers.flatMap((container) => [
    ...arrayIn(container, 'envFrom').slice(0, MAX_NAMES),
    ...arrayIn(container, 'env')
      .slice(0, MAX_NAMES)
      .map((one) => objectIn(one, 'valueFrom')),
  ])
  const volumes = arrayIn(spec, 'volumes').slice(0, MAX_NAMES)
  const projected = volumes.flatMap((one) =>
    arrayIn(objectIn(one, 'projected'), 'sources').slice(0, MAX_NAMES),
  )
  const places = [...variables, ...volumes, ...projected]
  const named = (resource: string, keys: readonly string[]): ContentReference[] => {
    const names = places.flatMap((one) =>
      keys.map((key) => objectIn(one, key)).map((of) => textIn(of, 'name') || textIn(of, 'secretName')),
    )
    const distinct = [...new Set(names)].filter((name) => name !== '').slice(0, MAX_NAMES)
    return distinct.map((name) => ({ field: 'settings', resource, namespace: namespaceOf(object), name }))
  }
  return [
    ...named('configmaps', ['configMapRef', 'configMapKeyRef', 'configMap']),
    ...named('secrets', ['secretRef', 'secretKeyRef', 'secret']),
  ]
}

/** Adds the counts in its status. */
function withCounts(object: JsonObject, { references: named, prints }: Content): Content {
  const status = objectIn(object, 'status')
  const [replicas, ready] = ['replicas', 'readyReplicas'].map((key) => String(numberIn(status, key)))
  return { references: named, prints: { ...prints, replicas: replicas ?? '', ready: ready ?? '' } }
}

const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas'

/** How many revisions, or ReplicaSets without Pods, are kept by default (apps/v1). */
const KEPT_REVISIONS = 10

function keptBy(object: JsonObject): string {
  const { revisionHistoryLimit: keeps } = objectIn(object, 'spec')
  return String(typeof keeps === 'number' ? keeps : KEPT_REVISIONS)
}

function deploymentContent(object: JsonObject): Content {
  const { replicas } = objectIn(object, 'spec')
  const { prints } = withTemplate(object, typeof replicas === 'number' ? replicas : 0)
  const kept = { keeps: keptBy(object) }
  return withCounts(object, { references: settingsOf(object), prints: { ...prints, ...kept } })
}

function replicaSetContent(object: JsonObject): Content {
  const { references: none, prints } = withTemplate(object, textIn(annotationsOf(object), DESIRED_REPLICAS))
  const size = String(numberIn(objectIn(object, 'spec'), 'replicas'))
  const refused = refusedBy(conditionOf(object, 'ReplicaFailure'))
  const own = { references: none, prints: { ...prints, size, refused } }
  return withCounts(object, withSurplus(own, hasMore(object)))
}

/** What refuses Pods, by the error message of the API server. */
const REFUSALS: readonly (readonly [said: RegExp, by: string])[] = [
  [/serviceaccount .*not found|no PriorityClass/, 'needs'],
  [/ValidatingAdmissionPolicy/, 'validatingadmissionpolicies validatingadmissionpolicybindings'],
  [/violates PodSecurity/, 'namespaces'],
  [/webhook/, 'validatingwebhookconfigurations mutatingwebhookconfigurations'],
  [
    /m(?:in|ax)imum .* usage per|max limit to request ratio per|must be less than or equal to \w+ limit/,
    'limitranges',
  ],
]

/** The resources of what refused a Pod; empty if none was refused. */
function refusedBy(failure: JsonObject | undefined): string {
  if (failure === undefined) return ''
  const message = textIn(failure, 'message')
  return REFUSALS.find(([said]) => said.test(message))?.[1] ?? 'resourcequotas'
}

function statefulSetContent(object: JsonObject): Content {
  const { prints } = withSurplus(withTemplate(object, ''), hasMore(object) || renewsStateful(object))
  const status = objectIn(object, 'status')
  return {
    references: [...claimsOf(object), ...settingsOf(object)],
    prints: {
      ...prints,
      keeps: keptBy(object),
      numbers: numbersOf(object),
      ...(!hasMore(object) && renewsInTurn(object) && { renews: 'true' }),
      ...(!hasMore(object) && renewsStateful(object) && { renewsFrom: String(renewsFrom(object)) }),
      ...(!renewsItself(object) && { renewedTo: textIn(status, 'updateRevision') }),
      ...(!hasMore(object) && !isUnseen(object) && renewedAs(REVISION, textIn(status, 'updateRevision'))),
    },
  }
}

const REVISION = 'controller-revision-hash'
const GENERATION = 'pod-template-generation'

/** The label of up-to-date Pods, which their controller no longer replaces. */
function renewedAs(label: string, value: string): { renewed?: string } {
  return value === '' ? {} : { renewed: `${label}=${value}` }
}

/** The names of its Pods' volume claims, without the ordinal of the Pod. */
function claimsOf(object: JsonObject): ContentReference[] {
  const name = textIn(objectIn(object, 'metadata'), 'name')
  return arrayIn(objectIn(object, 'spec'), 'volumeClaimTemplates').map((template) => ({
    ...{ field: 'claims', resource: 'persistentvolumeclaims', namespace: namespaceOf(object) },
    name: `${textIn(objectIn(template, 'metadata'), 'name')}-${name}`,
  }))
}

function daemonSetContent(object: JsonObject): Content {
  const { prints } = withSurplus(withTemplate(object, ''), renewsDaemons(object))
  const status = objectIn(object, 'status')
  const nodes = ['desiredNumberScheduled', 'numberMisscheduled'].map((key) => numberIn(status, key))
  return {
    references: settingsOf(object),
    prints: {
      ...{ ...prints, nodes: nodes.join(' '), keeps: keptBy(object) },
      ...renewedAs(GENERATION, textIn(annotationsOf(object), 'deprecated.daemonset.template.generation')),
    },
    selects: nodesFor(object),
  }
}

/** The node labels that its Pods require: nodeSelector and required affinity. Empty if it compares numbers. */
function nodesFor(daemonSet: JsonObject): LabelSelector[] {
  const spec = objectIn(objectIn(objectIn(daemonSet, 'spec'), 'template'), 'spec')
  const labels = textsOf(objectIn(spec, 'nodeSelector'))
  const affinity = objectIn(objectIn(spec, 'affinity'), 'nodeAffinity')
  const terms = arrayIn(
    objectIn(affinity, 'requiredDuringSchedulingIgnoredDuringExecution'),
    'nodeSelectorTerms',
  )
  if (terms.length === 0) return [{ labels, rules: [] }]
  const selectors = terms.map((term) => ({ ...selectorOf(term), labels }))
  const isKnown = selectors.every(({ rules }) => rules.every(({ operator }) => !/^[GL]t$/.test(operator)))
  return isKnown ? selectors : []
}

function jobContent(object: JsonObject): Content {
  const { references: none, prints } = withTemplate(object, '')
  const finished = ['Complete', 'Failed'].find((type) => hasCondition(object, type)) ?? ''
  const deadline = finished === '' ? deadlineOf(object) : ''
  return {
    references: none,
    prints: { ...prints, finished, ...expiryOf(object), size: String(runsAtOnce(object)), deadline },
  }
}

/** When a Job ends whatever its Pods do, in nanoseconds since 1970; empty if there is no such time. */
function deadlineOf(job: JsonObject): string {
  const startNs = parseRfc3339(textIn(objectIn(job, 'status'), 'startTime'))
  const seconds = objectIn(job, 'spec').activeDeadlineSeconds
  if (startNs === undefined || typeof seconds !== 'number' || !Number.isSafeInteger(seconds)) return ''
  return String(startNs + BigInt(seconds) * 1_000_000_000n)
}

/** Conditions of a Job that will not run any further Pod. */
const ENDS = ['Complete', 'Failed', 'SuccessCriteriaMet', 'FailureTarget']

function runsAtOnce(job: JsonObject): number {
  const { parallelism, suspend } = objectIn(job, 'spec')
  const isOver = suspend === true || ENDS.some((type) => hasCondition(job, type))
  return isOver ? 0 : typeof parallelism === 'number' ? parallelism : 1
}

/** How many finished Jobs are kept by default (batch/v1). */
const KEPT_JOBS = { successfulJobsHistoryLimit: 3, failedJobsHistoryLimit: 1 }

function cronJobContent(object: JsonObject): Content {
  const spec = objectIn(object, 'spec')
  const { references: none, prints } = withTemplate(objectIn(spec, 'jobTemplate'), '')
  const kept = (key: keyof typeof KEPT_JOBS): string =>
    String(typeof spec[key] === 'number' ? spec[key] : KEPT_JOBS[key])
  const keeps = {
    'keeps Complete': kept('successfulJobsHistoryLimit'),
    'keeps Failed': kept('failedJobsHistoryLimit'),
  }
  return { references: none, prints: { ...prints, ...keeps } }
}

/** Whether its controller is about to delete some of its Pods: there are too many, or some are to be replaced. */
function withSurplus({ references: named, prints }: Content, isSurplus: boolean): Content {
  return { references: named, prints: { ...prints, surplus: isSurplus ? 'true' : '' } }
}

function hasMore(object: JsonObject): boolean {
  const [asked, there] = ['spec', 'status'].map((part) => numberIn(objectIn(object, part), 'replicas'))
  return (there ?? 0) > (asked ?? 0)
}

function renewsStateful(object: JsonObject): boolean {
  const status = objectIn(object, 'status')
  const isBehind = textIn(status, 'currentRevision') !== textIn(status, 'updateRevision')
  // A recreated StatefulSet may adopt Pods of another revision.
  const hasOthers = numberIn(status, 'updatedReplicas') < numberIn(status, 'replicas')
  return renewsItself(object) && (isBehind || hasOthers || isUnseen(object))
}

/** The ordinal of the first Pod that is updated: the partition keeps those before it. */
function renewsFrom(object: JsonObject): number {
  const { partition } = objectIn(objectIn(objectIn(object, 'spec'), 'updateStrategy'), 'rollingUpdate')
  return firstNumber(object) + (typeof partition === 'number' ? partition : 0)
}

function firstNumber(object: JsonObject): number {
  return numberIn(objectIn(objectIn(object, 'spec'), 'ordinals'), 'start')
}

/** The ordinal of its first Pod, and the one after its last; empty without `replicas`. */
function numbersOf(object: JsonObject): string {
  const { replicas } = objectIn(object, 'spec')
  const first = firstNumber(object)
  return typeof replicas === 'number' ? `${first} ${first + replicas}` : ''
}

/** Pods are replaced one by one, and none while another is not ready. */
function renewsInTurn(object: JsonObject): boolean {
  const { maxUnavailable } = objectIn(objectIn(objectIn(object, 'spec'), 'updateStrategy'), 'rollingUpdate')
  return renewsStateful(object) && (maxUnavailable === undefined || maxUnavailable === 1)
}

function renewsDaemons(object: JsonObject): boolean {
  const status = objectIn(object, 'status')
  const isBehind = numberIn(status, 'updatedNumberScheduled') < numberIn(status, 'currentNumberScheduled')
  return renewsItself(object) && (isBehind || isUnseen(object))
}

/** With `OnDelete`, another controller or a person deletes the outdated Pods. */
function renewsItself(object: JsonObject): boolean {
  return textIn(objectIn(objectIn(object, 'spec'), 'updateStrategy'), 'type') !== 'OnDelete'
}

/** Its controller has not yet observed the latest generation. */
function isUnseen(object: JsonObject): boolean {
  const seen = numberIn(objectIn(object, 'status'), 'observedGeneration')
  return seen < numberIn(objectIn(object, 'metadata'), 'generation')
}
