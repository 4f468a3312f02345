import type { ContentReference } from '../model/kubernetes/object-facts.ts'
import { ownValue } from '../model/own-value.ts'
import { endpointsContent, endpointSliceContent, podContent } from './endpoint-content.ts'
import { arrayIn, namespaceOf, numberIn, objectIn, textIn, type JsonObject } from './json-access.ts'
import { printOf } from './print-of.ts'

/** What one kind of object says of others, and the fingerprints by which copies of its content are known again. */
export interface Content {
  readonly references: readonly ContentReference[]
  readonly prints: Readonly<Record<string, string>>
}

const HASH_LABELS = new Set(['pod-template-hash', 'controller-revision-hash', 'pod-template-generation'])
const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas'

const CONTENT: Readonly<Record<string, (object: JsonObject) => Content>> = {
  Deployment: (object) =>
    withCounts(object, withTemplate(object, numberIn(objectIn(object, 'spec'), 'replicas'))),
  ReplicaSet: replicaSetContent,
  StatefulSet: statefulSetContent,
  DaemonSet: (object) => withSurplus(withTemplate(object, ''), renewsDaemons(object)),
  Job: (object) => withTemplate(object, ''),
  CronJob: (object) => withTemplate(objectIn(objectIn(object, 'spec'), 'jobTemplate'), ''),
  ControllerRevision: (object) => withTemplate(objectIn(object, 'data'), ''),
  Pod: podContent,
  EndpointSlice: endpointSliceContent,
  Endpoints: endpointsContent,
  HorizontalPodAutoscaler: autoscalerContent,
  PersistentVolumeClaim: (object) =>
    references(named(object, 'volume', 'persistentvolumes', 'volumeName', '')),
  PersistentVolume: volumeContent,
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
  return { ...content, references: [...content.references, ...appliedFrom(object)] }
}

/** The template of what a workload makes, without the labels that tell its makings apart, and how many are wanted. */
function withTemplate(object: JsonObject, wanted: number | string): Content {
  const template = objectIn(objectIn(object, 'spec'), 'template')
  const metadata = objectIn(template, 'metadata')
  const labels = Object.entries(objectIn(metadata, 'labels')).filter(([key]) => !HASH_LABELS.has(key))
  const print = printOf({
    labels: Object.fromEntries(labels),
    annotations: objectIn(metadata, 'annotations'),
    spec: objectIn(template, 'spec'),
  })
  return { references: [], prints: { template: print, ...(wanted !== '' && { wanted: String(wanted) }) } }
}

function statefulSetContent(object: JsonObject): Content {
  const { prints } = withSurplus(withTemplate(object, ''), renewsStateful(object))
  return { references: claimsOf(object), prints }
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
  return withCounts(object, withSurplus({ references: none, prints: { ...prints, size } }, hasMore(object)))
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
  return hasMore(object) || (renewsItself(object) && (isBehind || isUnseen(object)))
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
