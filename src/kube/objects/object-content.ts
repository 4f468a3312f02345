import {
  type ContentReference,
  type CustomReference,
  isCustomResource,
  type LabelSelector,
} from '../../model/kubernetes-objects.ts'
import { ownValue } from '../../model/untrusted-names.ts'
import {
  annotationsOf,
  conditionOf,
  type Content,
  expiryOf,
  labelsOf,
  lifetimeOf,
  MAX_LABELS,
  MAX_NAMES,
  NOTHING,
  progressOf,
  references,
  selectorOf,
  selectorOfText,
} from './content.ts'
import { appliedFrom, DELIVERED } from './delivered-content.ts'
import { endpointsContent, endpointSliceContent } from './endpoints-content.ts'
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
import { nodeContent, podContent } from './pod-content.ts'
import { WORKLOADS } from './workload-content.ts'

const CONTENT: Readonly<Record<string, (object: JsonObject) => Content>> = {
  ...WORKLOADS,
  Node: nodeContent,
  Namespace: namespaceContent,
  Certificate: (object) => ({
    ...NOTHING,
    prints: { renewing: textIn(conditionOf(object, 'Issuing'), 'reason') === 'Renewing' ? 'true' : '' },
  }),
  Pod: podContent,
  EndpointSlice: endpointSliceContent,
  Endpoints: endpointsContent,
  HorizontalPodAutoscaler: autoscalerContent,
  PersistentVolumeClaim: claimContent,
  PersistentVolume: volumeContent,
  PodDisruptionBudget: budgetContent,
  ResourceQuota: quotaContent,
  Service: serviceContent,
  ClusterRole: (object) => ({
    ...NOTHING,
    labels: labelsOf(object),
    selects: arrayIn(objectIn(object, 'aggregationRule'), 'clusterRoleSelectors').map(selectorOf),
  }),
  IPAddress: allocatedContent,
  FlowSchema: (object) => {
    const name = textIn(objectIn(objectIn(object, 'spec'), 'priorityLevelConfiguration'), 'name')
    return references({ field: 'level', resource: 'prioritylevelconfigurations', namespace: '', name })
  },
  Secret: secretContent,
  CustomResourceDefinition: definitionContent,
  ...DELIVERED,
}

/** Kinds that custom resources select by labels, beside Pods. */
const SELECTED = new Set(['Deployment', 'StatefulSet', 'DaemonSet', 'Service'])
/** Kinds that Deployments select by labels. */
const MADE = new Set(['ReplicaSet'])
/** Fields with a selector, except those that select namespaces. */
const SELECTOR = /^(?!namespace)(?:.+S|s)elector$/

export function contentOf(object: JsonObject): Content {
  const kind = textIn(object, 'kind')
  const content = ownValue(CONTENT, kind)?.(object) ?? NOTHING
  const isCustom = isCustomResource(textIn(object, 'apiVersion'))
  return {
    ...content,
    ...((isCustom || SELECTED.has(kind) || MADE.has(kind)) && { labels: labelsOf(object) }),
    ...(isCustom && { selects: selectorsOf(object) }),
    prints: {
      ...content.prints,
      ...lifetimeOf(object),
      ...(isCustom && { ...expiryOf(object), ...progressOf(object) }),
    },
    references: [...content.references, ...appliedFrom(object), ...namedReferences(object)],
  }
}

/** The selectors of a custom resource that are not empty. */
function selectorsOf(object: JsonObject): LabelSelector[] {
  return Object.entries(objectIn(object, 'spec'))
    .filter(([key]) => SELECTOR.test(key))
    .map(([, value]) => (typeof value === 'string' ? selectorOfText(value) : selectorOf(value)))
    .filter(({ labels, rules }) => Object.keys(labels).length + rules.length > 0)
}

const TLS = 'kubernetes.io/tls'

function secretContent(object: JsonObject): Content {
  const name = textIn(annotationsOf(object), 'kubernetes.io/service-account.name')
  const namespace = namespaceOf(object)
  const account = references({ field: 'account', resource: 'serviceaccounts', namespace, name })
  return { ...account, prints: { ...account.prints, ...(object.type === TLS && { certificate: 'true' }) } }
}

/** How the conditions of a terminating namespace name the resources that remain. */
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

/** The API server records in it which Pods it is about to evict. */
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

function serviceContent(object: JsonObject): Content {
  const addresses = arrayIn(objectIn(object, 'spec'), 'clusterIPs').filter((one) => typeof one === 'string')
  return { ...NOTHING, prints: { addresses: addresses.slice(0, MAX_NAMES).join(' ') } }
}

/** An address of a Service, which the API server creates before it stores the Service. */
function allocatedContent(object: JsonObject): Content {
  const parent = objectIn(objectIn(object, 'spec'), 'parentRef')
  return references({
    ...{ field: 'allocated for', resource: textIn(parent, 'resource') },
    ...{ namespace: textIn(parent, 'namespace'), name: textIn(parent, 'name') },
  })
}

/** Each served version of a CustomResourceDefinition has an APIService. */
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

function autoscalerContent(object: JsonObject): Content {
  const target = objectIn(objectIn(object, 'spec'), 'scaleTargetRef')
  const resource =
    ownValue(RESOURCE_OF_TARGET, textIn(target, 'kind')) ?? `${textIn(target, 'kind').toLowerCase()}s`
  const { references: named } = references({
    field: 'target',
    resource,
    namespace: namespaceOf(object),
    name: textIn(target, 'name'),
  })
  const [least, most] = ['minReplicas', 'maxReplicas'].map(
    (key) => numberIn(objectIn(object, 'spec'), key) || 1,
  )
  return { references: named, prints: { bounds: `${least} ${most}` } }
}

const RESOURCE_OF_TARGET: Readonly<Record<string, string>> = {
  Deployment: 'deployments',
  ReplicaSet: 'replicasets',
  StatefulSet: 'statefulsets',
}

function claimContent(object: JsonObject): Content {
  const { references: named } = references(
    nameIn(object, 'volume', 'persistentvolumes', 'volumeName'),
    nameIn(object, 'class', 'storageclasses', 'storageClassName'),
  )
  return { references: named, prints: { class: textIn(objectIn(object, 'spec'), 'storageClassName') } }
}

function volumeContent(object: JsonObject): Content {
  const spec = objectIn(object, 'spec')
  const claim = objectIn(spec, 'claimRef')
  const isLeft = textIn(objectIn(object, 'status'), 'phase') === 'Released'
  const isEnding = isLeft && textIn(spec, 'persistentVolumeReclaimPolicy') === 'Delete'
  const { references: named } = references({
    field: 'claim',
    resource: 'persistentvolumeclaims',
    namespace: textIn(claim, 'namespace'),
    name: textIn(claim, 'name'),
  })
  return { references: named, prints: isEnding ? { reclaimed: 'true' } : {} }
}

/** A cluster-scoped object that the `spec` names under a key. */
function nameIn(object: JsonObject, field: string, resource: string, key: string): ContentReference {
  return { field, resource, namespace: '', name: textIn(objectIn(object, 'spec'), key) }
}

/** The references at the configured paths of an object. */
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
