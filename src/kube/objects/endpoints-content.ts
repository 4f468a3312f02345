import type { ContentReference } from '../../model/kubernetes-objects.ts'
import type { Content } from './content.ts'
import {
  arrayIn,
  booleanIn,
  type Json,
  type JsonObject,
  namespaceOf,
  objectIn,
  textIn,
} from './object-json.ts'

const SERVICE_LABEL = 'kubernetes.io/service-name'

export function endpointSliceContent(object: JsonObject): Content {
  const namespace = namespaceOf(object)
  const service = textIn(objectIn(objectIn(object, 'metadata'), 'labels'), SERVICE_LABEL)
  const pods = arrayIn(object, 'endpoints').flatMap((endpoint) => {
    const conditions = objectIn(endpoint, 'conditions')
    // With publishNotReadyAddresses, `ready` is true for all.
    const serving = booleanIn(conditions, conditions.serving === undefined ? 'ready' : 'serving')
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

/** What an endpoints list records of a Pod. */
export function endpointSays(ip: string, isServing: boolean, isTerminating: boolean): string {
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
