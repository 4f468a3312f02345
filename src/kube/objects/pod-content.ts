import { CORDONED, type ContentReference, OUT_OF_SERVICE } from '../../model/kubernetes-objects.ts'
import { conditionOf, type Content, hasCondition, labelsOf, textsOf } from './content.ts'
import { endpointSays } from './endpoints-content.ts'
import {
  arrayIn,
  type Json,
  type JsonObject,
  namespaceOf,
  numberIn,
  objectIn,
  textIn,
} from './object-json.ts'

const FINISHED = new Set(['Succeeded', 'Failed'])

/** How a Pod appears in an endpoints list, in the terms of EndpointSlice and of Endpoints. */
export function podContent(object: JsonObject): Content {
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
      ...neededBy(spec, namespaceOf(object)),
      ...nodeReference('nominated', textIn(status, 'nominatedNodeName')),
      ...arrayIn(spec, 'volumes').flatMap((volume) => claimOf(volume, objectIn(object, 'metadata'))),
      ...arrayIn(spec, 'resourceClaims').flatMap((one) => deviceClaim(one, namespaceOf(object))),
      ...arrayIn(status, 'resourceClaimStatuses').flatMap((one) => deviceClaim(one, namespaceOf(object))),
    ],
    prints: {
      node,
      slice: isListed ? endpointSays(ip, isReady, terminating) : '',
      endpoints: isListed && !terminating ? endpointSays(ip, isReady, false) : '',
      atOnce: terminating && numberIn(metadata, 'deletionGracePeriodSeconds') === 0 ? 'true' : '',
      evicted: textIn(conditionOf(object, 'DisruptionTarget'), 'reason'),
      replicas: isCounted ? '1' : '0',
      ready: isCounted && isReady ? '1' : '0',
      pending: waitsFor(status),
      ...nodesFor(spec),
      ...(numberIn(spec, 'priority') !== 0 && { priority: String(numberIn(spec, 'priority')) }),
      ...(arrayIn(metadata, 'finalizers').includes(UNCOUNTED) && { uncounted: 'true' }),
    },
  }
}

/** The node labels that the Pod requires, as `a=b,c=d`. */
function nodesFor(spec: Json | undefined): { selector?: string } {
  const labels = Object.entries(textsOf(objectIn(spec, 'nodeSelector'))).map(
    ([key, value]) => `${key}=${value}`,
  )
  return labels.length === 0 ? {} : { selector: labels.join(',') }
}

/** The objects that must exist before the API server accepts the Pod. */
function neededBy(spec: Json | undefined, namespace: string): ContentReference[] {
  const account = textIn(spec, 'serviceAccountName')
  // Every namespace has this one.
  const own = account === 'default' ? '' : account
  return [
    { field: 'needs', resource: 'serviceaccounts', namespace, name: own },
    { field: 'needs', resource: 'priorityclasses', namespace: '', name: textIn(spec, 'priorityClassName') },
    { field: 'needs', resource: 'runtimeclasses', namespace: '', name: textIn(spec, 'runtimeClassName') },
  ].filter(({ name }) => name !== '')
}

/** The one node on which a Pod of a DaemonSet may run, as set by the DaemonSet controller. */
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

/** The finalizer that a Job's controller removes once it has counted the finished Pod. */
const UNCOUNTED = 'batch.kubernetes.io/job-tracking'

const LACKS_CLAIM = /persistentvolumeclaim/i
const LACKS_COMPANY = /pod affinity/
const LACKS_ROOM = /Insufficient|Too many pods|free ports|anti-affinity|topology spread|volume count/

/**
 * What an unscheduled Pod waits for, as the scheduler reports it: its `claims`, `room` on a node, the `company` of Pods that it is to run
 * beside, or a `node` that it may run on.
 */
function waitsFor(status: Json | undefined): '' | 'claims' | 'room' | 'company' | 'node' {
  const unscheduled = arrayIn(status, 'conditions').find(
    (one) => textIn(one, 'type') === 'PodScheduled' && textIn(one, 'reason') === 'Unschedulable',
  )
  if (unscheduled === undefined) return ''
  const message = textIn(unscheduled, 'message')
  if (message === '' || LACKS_ROOM.test(message)) return 'room'
  if (LACKS_CLAIM.test(message)) return 'claims'
  return LACKS_COMPANY.test(message) ? 'company' : 'node'
}

/** The claim of a volume. An ephemeral one is named after the Pod and the volume. */
function claimOf(volume: Json, pod: JsonObject): ContentReference[] {
  const [namespace, of] = [textIn(pod, 'namespace'), textIn(pod, 'name')]
  const hasOwn = of !== '' && Object.keys(objectIn(volume, 'ephemeral')).length > 0
  const name = hasOwn
    ? `${of}-${textIn(volume, 'name')}`
    : textIn(objectIn(volume, 'persistentVolumeClaim'), 'claimName')
  return name === '' ? [] : [{ field: 'claims', resource: 'persistentvolumeclaims', namespace, name }]
}

function deviceClaim(one: Json, namespace: string): ContentReference[] {
  const name = textIn(one, 'resourceClaimName')
  return name === '' ? [] : [{ field: 'devices', resource: 'resourceclaims', namespace, name }]
}

/** Taints that describe the state of a node. The node controller adds and removes them. */
const OWN_TAINTS = 'node.kubernetes.io/'

export function nodeContent(object: JsonObject): Content {
  const spec = objectIn(object, 'spec')
  const taints = arrayIn(spec, 'taints').map((taint) => textIn(taint, 'key'))
  const isOfState = (key: string): boolean => key.startsWith(OWN_TAINTS) && key !== OUT_OF_SERVICE
  const [own, others] = [true, false].map((isOwn) => taints.filter((key) => isOfState(key) === isOwn).sort())
  const isCordoned = spec['unschedulable'] === true
  const closed = [...(isCordoned ? [CORDONED] : []), ...(others ?? [])]
  const prints = { taints: own?.join(' ') ?? '', closed: closed.join(' ') }
  return { references: [], prints, labels: labelsOf(object) }
}
