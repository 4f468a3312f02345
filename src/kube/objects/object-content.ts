import type { ContentReference, CustomReference, LabelSelector } from '../../model/kubernetes-objects.ts'
import { ownValue } from '../../model/names-from-outside.ts'
import { fingerprintOf } from './content-prints.ts'
import { DELIVERED } from './delivered-content.ts'
import { endpointSays, endpointsContent, endpointSliceContent } from './endpoints-content.ts'
import { namedReferences } from './named-references.ts'
import {
  arrayIn,
  isObject,
  type Json,
  type JsonObject,
  namespaceOf,
  numberIn,
  objectIn,
  textIn,
} from './object-json.ts'

/** What one kind of object says of others, and the fingerprints by which copies of its content are known again. */
export interface Content {
  readonly references: readonly ContentReference[]
  readonly prints: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  readonly selects?: readonly LabelSelector[]
}

const HASH_LABELS = new Set(['pod-template-hash', 'controller-revision-hash', 'pod-template-generation'])
const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas'

const CONTENT: Readonly<Record<string, (object: JsonObject) => Content>> = {
  Deployment: (object) =>
    withCounts(object, withTemplate(object, numberIn(objectIn(object, 'spec'), 'replicas'))),
  ReplicaSet: replicaSetContent,
  StatefulSet: statefulSetContent,
  DaemonSet: daemonSetContent,
  Job: jobContent,
  CronJob: cronJobContent,
  Node: nodeContent,
  Namespace: namespaceContent,
  Certificate: (object) => ({
    ...NOTHING,
    prints: { renewing: textIn(conditionOf(object, 'Issuing'), 'reason') === 'Renewing' ? 'true' : '' },
  }),
  ControllerRevision: (object) => withTemplate(objectIn(object, 'data'), ''),
  Pod: podContent,
  EndpointSlice: endpointSliceContent,
  Endpoints: endpointsContent,
  HorizontalPodAutoscaler: autoscalerContent,
  PersistentVolumeClaim: (object) =>
    references(named(object, 'volume', 'persistentvolumes', 'volumeName', '')),
  PersistentVolume: volumeContent,
  PodDisruptionBudget: budgetContent,
  ResourceQuota: quotaContent,
  ClusterRole: (object) => ({
    ...NOTHING,
    labels: labelsOf(object),
    selects: arrayIn(objectIn(object, 'aggregationRule'), 'clusterRoleSelectors').map(selectorOf),
  }),
  IPAddress: allocatedContent,
  Secret: (object) =>
    references({
      ...{ field: 'account', resource: 'serviceaccounts', namespace: namespaceOf(object) },
      name: textIn(annotationsOf(object), 'kubernetes.io/service-account.name'),
    }),
  CustomResourceDefinition: definitionContent,
  ...DELIVERED,
}

function jobContent(object: JsonObject): Content {
  const { references: none, prints } = withTemplate(object, '')
  const finished = ['Complete', 'Failed'].find((type) => hasCondition(object, type)) ?? ''
  const expires = typeof objectIn(object, 'spec').ttlSecondsAfterFinished === 'number' ? 'true' : ''
  return { references: none, prints: { ...prints, finished, expires } }
}

/** How many finished Jobs are kept, unless it says so (batch/v1). */
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

/** Taints that say how a node is, which its controller sets and takes away. */
const OWN_TAINTS = 'node.kubernetes.io/'

function nodeContent(object: JsonObject): Content {
  const taints = arrayIn(objectIn(object, 'spec'), 'taints').map((taint) => textIn(taint, 'key'))
  const own = taints.filter((key) => key.startsWith(OWN_TAINTS)).sort()
  return { references: [], prints: { taints: own.join(' ') }, labels: labelsOf(object) }
}

/** How the conditions of a namespace that ends name the resources of which something is left. */
const REMAINING = /Resource=([a-z0-9-]+)|([a-z0-9-]+)\.\S* has \d+ resource instances/g

function namespaceContent(object: JsonObject): Content {
  const namespace = textIn(objectIn(object, 'metadata'), 'name')
  const messages = arrayIn(objectIn(object, 'status'), 'conditions').map((one) => textIn(one, 'message'))
  const left = messages.flatMap((message) =>
    [...message.matchAll(REMAINING)].map(([, resource, other = '']) => resource ?? other),
  )
  const resources = [...new Set(left)].slice(0, MAX_NAMES)
  return {
    references: resources.map((resource) => ({ field: 'remaining', resource, namespace, name: '' })),
    prints: {},
  }
}

/** More labels than these are not kept. */
const MAX_LABELS = 64
/** A prefix of 253 characters, a slash, a name of 63 and a value of 63. */
const MAX_LABEL_LENGTH = 380

function labelsOf(object: JsonObject): Record<string, string> {
  return textsOf(objectIn(objectIn(object, 'metadata'), 'labels'))
}

function textsOf(object: JsonObject): Record<string, string> {
  const texts = Object.entries(object).flatMap(([key, value]): [string, string][] =>
    typeof value === 'string' && key.length + value.length <= MAX_LABEL_LENGTH ? [[key, value]] : [],
  )
  return Object.fromEntries(texts.slice(0, MAX_LABELS))
}

function selectorOf(selector: Json): LabelSelector {
  return {
    labels: textsOf(objectIn(selector, 'matchLabels')),
    rules: arrayIn(selector, 'matchExpressions')
      .slice(0, MAX_LABELS)
      .map((rule) => ({
        ...{ key: textIn(rule, 'key'), operator: textIn(rule, 'operator') },
        values: arrayIn(rule, 'values')
          .filter((one) => typeof one === 'string' && one.length <= MAX_LABEL_LENGTH)
          .slice(0, MAX_LABELS) as string[],
      })),
  }
}

function daemonSetContent(object: JsonObject): Content {
  const { prints } = withSurplus(withTemplate(object, ''), renewsDaemons(object))
  const status = objectIn(object, 'status')
  const nodes = ['desiredNumberScheduled', 'numberMisscheduled'].map((key) => numberIn(status, key))
  return { references: [], prints: { ...prints, nodes: nodes.join(' ') }, selects: nodesFor(object) }
}

/** What its Pods require of the labels of a node: nodeSelector and required affinity. Nothing where that compares numbers. */
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

/** The API server notes in it which Pods it is about to evict. */
function budgetContent(object: JsonObject): Content {
  const namespace = namespaceOf(object)
  const disrupted = Object.keys(objectIn(objectIn(object, 'status'), 'disruptedPods')).slice(0, MAX_LABELS)
  return {
    references: disrupted.map((name) => ({ field: 'disrupted', resource: 'pods', namespace, name })),
    prints: {},
    selects: [selectorOf(objectIn(objectIn(object, 'spec'), 'selector'))],
  }
}

/** Quotas count objects under these names and under `count/<resource>.<group>`. */
const OF_QUOTA: Readonly<Record<string, string>> = {
  pods: 'pods',
  cpu: 'pods',
  memory: 'pods',
  'requests.cpu': 'pods',
  'requests.memory': 'pods',
  'limits.cpu': 'pods',
  'limits.memory': 'pods',
  'requests.storage': 'persistentvolumeclaims',
  'services.loadbalancers': 'services',
  'services.nodeports': 'services',
}

function quotaContent(object: JsonObject): Content {
  const hard = Object.keys(objectIn(objectIn(object, 'spec'), 'hard')).slice(0, MAX_LABELS)
  const names = hard.map((key) => {
    const known = ownValue(OF_QUOTA, key) ?? /^count\/([^.]+)/.exec(key)?.[1]
    return known ?? (key.includes('/') || key.includes('.') ? 'pods' : key)
  })
  const counted = [...new Set(names)].map((resource) => ({
    ...{ field: 'counted', resource, namespace: namespaceOf(object), name: '' },
  }))
  return { references: counted, prints: {} }
}

/** An address of a Service, which the API server makes before the Service is stored. */
function allocatedContent(object: JsonObject): Content {
  const parent = objectIn(objectIn(object, 'spec'), 'parentRef')
  return references({
    ...{ field: 'allocated for', resource: textIn(parent, 'resource') },
    ...{ namespace: textIn(parent, 'namespace'), name: textIn(parent, 'name') },
  })
}

/** Each of its versions that is served has an APIService. */
function definitionContent(object: JsonObject): Content {
  const spec = objectIn(object, 'spec')
  const group = textIn(spec, 'group')
  const versions = arrayIn(spec, 'versions')
    .slice(0, MAX_LABELS)
    .map((version) => textIn(version, 'name'))
  return references(
    ...versions.map((version) => ({
      ...{ field: 'serves', resource: 'apiservices', namespace: '' },
      name: `${version}.${group}`,
    })),
  )
}

const NOTHING: Content = { references: [], prints: {} }

/** What GitOps controllers write on what they apply: which of their objects it comes from. */
const GITOPS_LABELS = [
  {
    name: 'kustomize.toolkit.fluxcd.io/name',
    namespace: 'kustomize.toolkit.fluxcd.io/namespace',
    resource: 'kustomizations',
  },
  {
    name: 'helm.toolkit.fluxcd.io/name',
    namespace: 'helm.toolkit.fluxcd.io/namespace',
    resource: 'helmreleases',
  },
  { name: 'argocd.argoproj.io/instance', namespace: '', resource: 'applications' },
]
const ARGO_TRACKING = 'argocd.argoproj.io/tracking-id'

export function contentOf(object: JsonObject): Content {
  const kind = textIn(object, 'kind')
  const content = ownValue(CONTENT, kind)?.(object) ?? NOTHING
  return {
    ...content,
    references: [...content.references, ...appliedFrom(object), ...namedReferences(object)],
  }
}

/** The template of what a workload makes, without the labels that tell its makings apart, and how many are wanted. */
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

function statefulSetContent(object: JsonObject): Content {
  const { prints } = withSurplus(withTemplate(object, ''), hasMore(object) || renewsStateful(object))
  return {
    references: claimsOf(object),
    prints: { ...prints, ...(!hasMore(object) && renewsInTurn(object) && { renews: 'true' }) },
  }
}

/** What the claims of its Pods are called, before the number of the Pod. */
function claimsOf(object: JsonObject): ContentReference[] {
  const name = textIn(objectIn(object, 'metadata'), 'name')
  return arrayIn(objectIn(object, 'spec'), 'volumeClaimTemplates').map((template) => ({
    ...{ field: 'claims', resource: 'persistentvolumeclaims', namespace: namespaceOf(object) },
    name: `${textIn(objectIn(template, 'metadata'), 'name')}-${name}`,
  }))
}

function replicaSetContent(object: JsonObject): Content {
  const { references: none, prints } = withTemplate(object, textIn(annotationsOf(object), DESIRED_REPLICAS))
  const size = String(numberIn(objectIn(object, 'spec'), 'replicas'))
  const refused = hasCondition(object, 'ReplicaFailure') ? 'true' : ''
  const own = { references: none, prints: { ...prints, size, refused } }
  return withCounts(object, withSurplus(own, hasMore(object)))
}

/** Whether it has Pods that its controller is about to delete: too many, or such as are to be renewed. */
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
  return renewsItself(object) && (isBehind || isUnseen(object))
}

/** One Pod after the other, and none while another is not ready. */
function renewsInTurn(object: JsonObject): boolean {
  const { maxUnavailable } = objectIn(objectIn(objectIn(object, 'spec'), 'updateStrategy'), 'rollingUpdate')
  return renewsStateful(object) && (maxUnavailable === undefined || maxUnavailable === 1)
}

function renewsDaemons(object: JsonObject): boolean {
  const status = objectIn(object, 'status')
  const isBehind = numberIn(status, 'updatedNumberScheduled') < numberIn(status, 'currentNumberScheduled')
  return renewsItself(object) && (isBehind || isUnseen(object))
}

/** Else somebody else deletes the Pods that are to be renewed. */
function renewsItself(object: JsonObject): boolean {
  return textIn(objectIn(objectIn(object, 'spec'), 'updateStrategy'), 'type') !== 'OnDelete'
}

/** Its controller has not said yet that it saw what the author wrote last. */
function isUnseen(object: JsonObject): boolean {
  const seen = numberIn(objectIn(object, 'status'), 'observedGeneration')
  return seen < numberIn(objectIn(object, 'metadata'), 'generation')
}

/** How many it counts, as its status says. */
function withCounts(object: JsonObject, { references: named, prints }: Content): Content {
  const status = objectIn(object, 'status')
  const [replicas, ready] = ['replicas', 'readyReplicas'].map((key) => String(numberIn(status, key)))
  return { references: named, prints: { ...prints, replicas: replicas ?? '', ready: ready ?? '' } }
}

function autoscalerContent(object: JsonObject): Content {
  const target = objectIn(objectIn(object, 'spec'), 'scaleTargetRef')
  const resource =
    ownValue(RESOURCE_OF_TARGET, textIn(target, 'kind')) ?? `${textIn(target, 'kind').toLowerCase()}s`
  return references({
    field: 'target',
    resource,
    namespace: namespaceOf(object),
    name: textIn(target, 'name'),
  })
}

const RESOURCE_OF_TARGET: Readonly<Record<string, string>> = {
  Deployment: 'deployments',
  ReplicaSet: 'replicasets',
  StatefulSet: 'statefulsets',
}

function volumeContent(object: JsonObject): Content {
  const claim = objectIn(objectIn(object, 'spec'), 'claimRef')
  return references({
    field: 'claim',
    resource: 'persistentvolumeclaims',
    namespace: textIn(claim, 'namespace'),
    name: textIn(claim, 'name'),
  })
}

function named(
  object: JsonObject,
  field: string,
  resource: string,
  key: string,
  namespace: string,
): ContentReference {
  return { field, resource, namespace, name: textIn(objectIn(object, 'spec'), key) }
}

function references(...all: readonly ContentReference[]): Content {
  return { references: all.filter(({ name }) => name !== ''), prints: {} }
}

function appliedFrom(object: JsonObject): ContentReference[] {
  const labels = objectIn(objectIn(object, 'metadata'), 'labels')
  const found = GITOPS_LABELS.map(({ name, namespace, resource }) => ({
    field: 'applied from',
    resource,
    namespace: textIn(labels, namespace),
    name: textIn(labels, name),
  }))
  // `<application>:<group>/<kind>:<namespace>/<name>`
  const [application = ''] = textIn(annotationsOf(object), ARGO_TRACKING).split(':')
  found.push({ field: 'applied from', resource: 'applications', namespace: '', name: application })
  return found.filter(({ name }) => name !== '')
}

function annotationsOf(object: JsonObject): JsonObject {
  return objectIn(objectIn(object, 'metadata'), 'annotations')
}

const FINISHED = new Set(['Succeeded', 'Failed'])

/** What a Pod shows to those who list it as an endpoint, by the words of EndpointSlice and of Endpoints. */
function podContent(object: JsonObject): Content {
  const [spec, status, metadata] = ['spec', 'status', 'metadata'].map((key) => objectIn(object, key))
  const ip = textIn(status, 'podIP')
  const terminating = textIn(metadata, 'deletionTimestamp') !== ''
  const isListed = ip !== '' && !FINISHED.has(textIn(status, 'phase'))
  const isCounted = !terminating && !FINISHED.has(textIn(status, 'phase'))
  const isReady = hasCondition(object, 'Ready')
  const node = textIn(spec, 'nodeName')
  const nodeReference = (field: string, name: string): ContentReference[] =>
    name === '' ? [] : [{ field, resource: 'nodes', namespace: '', name }]
  return {
    labels: labelsOf(object),
    references: [
      ...nodeReference('node', node === '' ? nodeAskedFor(spec) : node),
      ...nodeReference('nominated', textIn(status, 'nominatedNodeName')),
      ...arrayIn(spec, 'volumes').flatMap((volume) => claimOf(volume, namespaceOf(object))),
    ],
    prints: {
      node,
      slice: isListed ? endpointSays(ip, isReady, terminating) : '',
      endpoints: isListed && !terminating ? endpointSays(ip, isReady, false) : '',
      atOnce: terminating && numberIn(metadata, 'deletionGracePeriodSeconds') === 0 ? 'true' : '',
      evicted: textIn(conditionOf(object, 'DisruptionTarget'), 'reason'),
      replicas: isCounted ? '1' : '0',
      ready: isCounted && isReady ? '1' : '0',
      pending: isUnschedulable(status) ? 'true' : '',
    },
  }
}

/** The one node that a Pod of a DaemonSet may run on, as its controller writes it. */
function nodeAskedFor(spec: Json | undefined): string {
  const affinity = objectIn(objectIn(spec, 'affinity'), 'nodeAffinity')
  const required = objectIn(affinity, 'requiredDuringSchedulingIgnoredDuringExecution')
  for (const term of arrayIn(required, 'nodeSelectorTerms'))
    for (const field of arrayIn(term, 'matchFields')) {
      const [name] = textIn(field, 'key') === 'metadata.name' ? arrayIn(field, 'values') : []
      if (typeof name === 'string') return name
    }
  return ''
}

function isUnschedulable(status: Json | undefined): boolean {
  return arrayIn(status, 'conditions').some(
    (one) => textIn(one, 'type') === 'PodScheduled' && textIn(one, 'reason') === 'Unschedulable',
  )
}

function claimOf(volume: Json, namespace: string): ContentReference[] {
  const name = textIn(objectIn(volume, 'persistentVolumeClaim'), 'claimName')
  return name === '' ? [] : [{ field: 'claims', resource: 'persistentvolumeclaims', namespace, name }]
}

function hasCondition(object: JsonObject, type: string): boolean {
  return conditionOf(object, type) !== undefined
}

/** A condition that holds. */
function conditionOf(object: JsonObject, type: string): JsonObject | undefined {
  const conditions = arrayIn(objectIn(object, 'status'), 'conditions').filter(isObject)
  return conditions.find(
    (condition) => textIn(condition, 'type') === type && textIn(condition, 'status') === 'True',
  )
}

/** How many names of one place are kept. */
const MAX_NAMES = 64

/** What an object names in the places that configuration tells of. */
export function customContent(
  object: JsonObject,
  resource: string,
  custom: readonly CustomReference[],
): ContentReference[] {
  return custom.flatMap((one) => {
    if (one.resource !== resource) return []
    const [namespace = ''] = one.namespacePath === undefined ? [] : textsAt(object, one.namespacePath)
    const names = textsAt(object, one.path).slice(0, MAX_NAMES)
    return names.map((name) => ({ field: one.field, resource: one.of, namespace, name }))
  })
}

function textsAt(value: Json | undefined, [key, ...rest]: readonly string[]): string[] {
  if (key === undefined) return typeof value === 'string' && value !== '' ? [value] : []
  if (key === '*') return Array.isArray(value) ? value.flatMap((one) => textsAt(one, rest)) : []
  return isObject(value) ? textsAt(ownValue(value, key), rest) : []
}
