import type { ContentReference } from '../model/kubernetes/object-facts.ts'
import type { Content } from './content-of-kind.ts'
import {
  arrayIn,
  booleanIn,
  isObject,
  namespaceOf,
  numberIn,
  objectIn,
  textIn,
  type Json,
  type JsonObject,
} from './json-access.ts'

const SERVICE_LABEL = 'kubernetes.io/service-name'
const FINISHED = new Set(['Succeeded', 'Failed'])

/** What a Pod shows to those who list it as an endpoint, by the words of EndpointSlice and of Endpoints. */
export function podContent(object: JsonObject): Content {
  const [spec, status, metadata] = ['spec', 'status', 'metadata'].map((key) => objectIn(object, key))
  const ip = textIn(status, 'podIP')
  const terminating = textIn(metadata, 'deletionTimestamp') !== ''
  const isListed = ip !== '' && !FINISHED.has(textIn(status, 'phase'))
  const isCounted = !terminating && !FINISHED.has(textIn(status, 'phase'))
  const isReady = hasCondition(object, 'Ready')
  const node = textIn(spec, 'nodeName')
  return {
    references: [
      ...(node === '' ? [] : [{ field: 'node', resource: 'nodes', namespace: '', name: node }]),
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
    },
  }
}

export function endpointSliceContent(object: JsonObject): Content {
  const namespace = namespaceOf(object)
  const service = textIn(objectIn(objectIn(object, 'metadata'), 'labels'), SERVICE_LABEL)
  const pods = arrayIn(object, 'endpoints').flatMap((endpoint) => {
    const conditions = objectIn(endpoint, 'conditions')
    const serving = booleanIn(conditions, 'serving') || booleanIn(conditions, 'ready')
    const [address] = arrayIn(endpoint, 'addresses')
    const says = endpointSays(
      typeof address === 'string' ? address : '',
      serving,
      booleanIn(conditions, 'terminating'),
    )
    return podReference(endpoint, namespace, says)
  })
  return { references: [...serviceReference(namespace, service), ...pods], prints: {} }
}

export function endpointsContent(object: JsonObject): Content {
  const namespace = namespaceOf(object)
  const pods = arrayIn(object, 'subsets').flatMap((subset) => [
    ...addresses(subset, 'addresses', namespace, true),
    ...addresses(subset, 'notReadyAddresses', namespace, false),
  ])
  const service = textIn(objectIn(object, 'metadata'), 'name')
  return { references: [...serviceReference(namespace, service), ...pods], prints: {} }
}

function addresses(subset: Json, key: string, namespace: string, isReady: boolean): ContentReference[] {
  return arrayIn(subset, key).flatMap((address) =>
    podReference(address, namespace, endpointSays(textIn(address, 'ip'), isReady, false)),
  )
}

function endpointSays(ip: string, isServing: boolean, isTerminating: boolean): string {
  return `${ip} ${isServing ? 'serving' : 'not serving'}${isTerminating ? ' terminating' : ''}`
}

function podReference(endpoint: Json, namespace: string, says: string): ContentReference[] {
  const target = objectIn(endpoint, 'targetRef')
  if (textIn(target, 'kind') !== 'Pod') return []
  const [name, uid] = [textIn(target, 'name'), textIn(target, 'uid')]
  return [{ field: 'pods', resource: 'pods', namespace, name, says, ...(uid !== '' && { uid }) }]
}

function serviceReference(namespace: string, name: string): ContentReference[] {
  return name === '' ? [] : [{ field: 'service', resource: 'services', namespace, name }]
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
