import { expect, test } from '@jest/globals'
import { MemoryChanges } from '../../lab/harness/inference/memory-changes.ts'
import { MemoryObjects } from '../../lab/harness/inference/memory-objects.ts'
import { decide, type Decision } from '../../src/kube/inference/decide.ts'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'

const SETTINGS = { cluster: 'test', relations: RELATIONS, operators: [], controllers: [] }
/** Nothing is waited for any more. */
const LONG_AFTER_NS = 1_000_000_000_000n
const LINE = { windowNs: 0n, whoWaitNs: 0n, isWatched: true }

interface Sketch {
  kind: string
  name: string
  gone?: boolean
  meta?: JsonObject
  spec?: JsonObject
  status?: JsonObject
}

/** What is decided when a watch tells of these, one version after the other, and nothing tells who. */
function decided(...sketches: Sketch[]): Decision[] {
  const [objects, changes, line] = [new MemoryObjects(), new MemoryChanges(), new WriteQueue(LINE)]
  sketches.forEach(({ kind, name, gone = false, meta = {}, spec = {}, status = {} }, index) => {
    const version = index + 1
    const namespace = kind === 'Namespace' || kind === 'Node' ? '' : 'shop'
    const metadata = { name, namespace, uid: `uid of ${name}`, resourceVersion: String(version), ...meta }
    const object = { kind, apiVersion: 'v1', metadata, spec, status }
    const read = readWatchEvent({ type: gone ? 'DELETED' : 'MODIFIED', object }, BigInt(version))
    if (typeof read === 'string') throw new Error(read)
    line.add(read, BigInt(version))
  })
  return line.takeDue(LONG_AFTER_NS).flatMap((write) => {
    const decision = decide(write, objects, changes, SETTINGS)
    if (decision?.sources !== undefined) changes.merge(decision.cpid, decision.sources)
    return decision ?? []
  })
}

/** Who wrote the last of them, and whether that began a change. */
function last(...sketches: Sketch[]): [string, string] {
  const decision = decided(...sketches).at(-1)
  return [decision?.writer.service ?? '', decision?.cause ?? '']
}

const GOING = { deletionTimestamp: '2026-11-22T19:30:53Z' }
const ownedBy = (kind: string, name: string): JsonObject => ({
  ownerReferences: [{ kind, name, uid: `uid of ${name}`, controller: true }],
})
const BY_CONTROLLER = 'inferred'

test('what goes while its namespace does goes with it; else somebody deletes it', () => {
  const settings = { kind: 'ConfigMap', name: 'settings' }
  const gone = { ...settings, gone: true }
  const namespace = { kind: 'Namespace', name: 'shop' }
  expect(last(namespace, settings, { ...namespace, meta: GOING }, gone)).toEqual([
    'namespace-controller',
    BY_CONTROLLER,
  ])
  expect(last(namespace, settings, gone)).toEqual(['unknown', 'operator'])
})

test('a namespace is removed by its controller, once it began to go', () => {
  const namespace = { kind: 'Namespace', name: 'shop' }
  const removed = last(namespace, { ...namespace, meta: GOING }, { ...namespace, meta: GOING, gone: true })
  expect(removed).toEqual(['namespace-controller', BY_CONTROLLER])
})

test.each([
  {
    kind: 'StatefulSet',
    by: 'statefulset-controller',
    renewing: { currentRevision: 'a', updateRevision: 'b', observedGeneration: 1 },
    still: { currentRevision: 'a', updateRevision: 'a', observedGeneration: 1 },
  },
  {
    kind: 'DaemonSet',
    by: 'daemon-set-controller',
    renewing: { updatedNumberScheduled: 1, currentNumberScheduled: 3, observedGeneration: 1 },
    still: { updatedNumberScheduled: 3, currentNumberScheduled: 3, observedGeneration: 1 },
  },
])('a Pod that its $kind renews is deleted by its controller', ({ kind, by, renewing, still }) => {
  const owner = { kind, name: 'db', meta: { generation: 1 } }
  const pod = { kind: 'Pod', name: 'db-0', meta: ownedBy(kind, 'db') }
  const going = { ...pod, meta: { ...pod.meta, ...GOING } }
  expect(last({ ...owner, status: renewing }, pod, going)).toEqual([by, BY_CONTROLLER])
  expect(last({ ...owner, status: { ...still, observedGeneration: 0 } }, pod, going)).toEqual([
    by,
    BY_CONTROLLER,
  ])
  expect(last({ ...owner, status: still }, pod, going)).toEqual(['unknown', 'operator'])
  const spec = { updateStrategy: { type: 'OnDelete' } }
  expect(last({ ...owner, spec, status: renewing }, pod, going)).toEqual(['unknown', 'operator'])
})

test('a Pod that a taint drives from its Node goes for the Node, and one that somebody evicts for that person', () => {
  const node = { kind: 'Node', name: 'node-1' }
  const pod = { kind: 'Pod', name: 'web-1', spec: { nodeName: 'node-1' } }
  const because = (reason: string): JsonObject => ({
    conditions: [{ type: 'DisruptionTarget', status: 'True', reason }],
  })
  const tainted = decided(
    node,
    pod,
    { ...node, spec: { taints: [{ key: 'broken', effect: 'NoExecute' }] } },
    { ...pod, status: because('DeletionByTaintManager') },
    { ...pod, status: because('DeletionByTaintManager'), meta: GOING },
  )
  const byNode = { writer: { service: 'node-controller' }, cause: BY_CONTROLLER }
  expect(tainted.slice(-2)).toMatchObject([byNode, byNode])
  expect(tainted.at(-2)?.reads.map(({ identity }) => identity.resource)).toEqual(['pods', 'nodes'])
  const status = because('EvictionByEvictionAPI')
  expect(last(node, pod, { ...pod, status })).toEqual(['unknown', 'operator'])
  expect(last(node, pod, { ...pod, status }, { ...pod, status, meta: GOING })).toEqual([
    'unknown',
    'inferred',
  ])
})

test('Endpoints go with their Service by the API server itself', () => {
  const service = { kind: 'Service', name: 'web' }
  const endpoints = { kind: 'Endpoints', name: 'web', meta: { uid: 'uid of its endpoints' } }
  const gone = { ...endpoints, gone: true }
  expect(last(service, endpoints, { ...service, gone: true }, gone)).toEqual([
    'kube-apiserver',
    BY_CONTROLLER,
  ])
  expect(last(service, endpoints, gone)).toEqual(['unknown', 'operator'])
})

test('a Deployment is scaled by an autoscaler only where one names it', () => {
  const web = { kind: 'Deployment', name: 'web', meta: { generation: 1 }, spec: { replicas: 1 } }
  const scaled = { ...web, meta: { generation: 2 }, spec: { replicas: 3 } }
  const spec = { scaleTargetRef: { kind: 'Deployment', name: 'web' } }
  const autoscaler = { kind: 'HorizontalPodAutoscaler', name: 'of web', spec }
  expect(last(web, autoscaler, scaled)).toEqual(['horizontal-pod-autoscaler', BY_CONTROLLER])
  expect(last(web, scaled)).toEqual(['unknown', 'operator'])
})

const PERSON = ['unknown', 'operator']
const NODE = { kind: 'Node', name: 'n1', meta: { labels: { pool: 'a' } } }

test('a Pod of a DaemonSet is deleted by its controller where its node has gone, or is none of its nodes', () => {
  const template = { spec: { nodeSelector: { pool: 'a' } } }
  const seen = { updatedNumberScheduled: 1, currentNumberScheduled: 1, observedGeneration: 1 }
  const set = { kind: 'DaemonSet', name: 'agent', meta: { generation: 1 }, spec: { template }, status: seen }
  const pod = { kind: 'Pod', name: 'agent-1', meta: ownedBy('DaemonSet', 'agent'), spec: { nodeName: 'n1' } }
  const going = { ...pod, meta: { ...pod.meta, ...GOING } }
  expect(last(NODE, set, pod, going)).toEqual(PERSON)
  const byController = ['daemon-set-controller', BY_CONTROLLER]
  expect(last(NODE, set, pod, { ...NODE, meta: { labels: {} } }, going)).toEqual(byController)
  expect(last(NODE, set, pod, { ...NODE, gone: true }, going)).toEqual(byController)
  // Of nodes that nobody tells of nothing is known.
  expect(last(set, pod, going)).toEqual(PERSON)
})

test('a StatefulSet renews its Pods in turn: whoever deletes one before its turn is a person', () => {
  const renewing = { currentRevision: 'a', updateRevision: 'b', observedGeneration: 1 }
  const set = { kind: 'StatefulSet', name: 'db', meta: { generation: 1 }, status: renewing }
  const podOf = (number: number, isReady: boolean, meta: JsonObject = {}): Sketch => ({
    ...{ kind: 'Pod', name: `db-${number}`, meta: { ...ownedBy('StatefulSet', 'db'), ...meta } },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  })
  const byController = ['statefulset-controller', BY_CONTROLLER]
  const going = podOf(0, true, GOING)
  expect(last(set, podOf(0, true), podOf(1, true), going)).toEqual(byController)
  expect(last(set, podOf(0, true), podOf(1, false), going)).toEqual(PERSON)
  const spec = { updateStrategy: { rollingUpdate: { maxUnavailable: 2 } } }
  expect(last({ ...set, spec }, podOf(0, true), podOf(1, false), going)).toEqual(byController)
})

test('what has owners of which none is left, and none was its controller, is garbage', () => {
  const owner = { kind: 'ConfigMap', name: 'owner' }
  const reference = { kind: 'ConfigMap', name: 'owner', uid: 'uid of owner' }
  const owned = { kind: 'ConfigMap', name: 'owned', meta: { ownerReferences: [reference] } }
  expect(last(owner, owned, { ...owned, gone: true })).toEqual(PERSON)
  expect(last(owner, owned, { ...owner, gone: true }, { ...owned, gone: true })).toEqual([
    'generic-garbage-collector',
    BY_CONTROLLER,
  ])
})

test('the address of a Service goes with it, by the API server', () => {
  const service = { kind: 'Service', name: 'web' }
  const parentRef = { resource: 'services', namespace: 'shop', name: 'web' }
  const address = { kind: 'IPAddress', name: '10.0.0.7', meta: { namespace: '' }, spec: { parentRef } }
  expect(last(service, address, { ...address, gone: true })).toEqual(PERSON)
  expect(last(service, address, { ...service, gone: true }, { ...address, gone: true })).toEqual([
    'kube-apiserver',
    BY_CONTROLLER,
  ])
})

test('Endpoints whose Service was made anew are not deleted by the API server for the one before', () => {
  const service = { kind: 'Service', name: 'web' }
  const anew = { ...service, meta: { uid: 'another' } }
  const endpoints = { kind: 'Endpoints', name: 'web', meta: { uid: 'uid of its endpoints' } }
  const gone = { ...endpoints, gone: true }
  expect(last(service, endpoints, { ...service, gone: true }, anew, gone)[0]).toBe('unknown')
})

test('who takes a finalizer away that a person set is a person; of others it is not known', () => {
  const heldBy = (manager: string, finalizer: string): Sketch => {
    const entry = { manager, operation: 'Update', fieldsV1: { 'f:metadata': { 'f:finalizers': {} } } }
    const meta = { finalizers: [finalizer], managedFields: [entry], ...GOING }
    return { kind: 'ConfigMap', name: 'held', meta }
  }
  const whoFrees = (held: Sketch): string => last({ ...held, meta: {} }, held, { ...held, gone: true })[1]
  expect(whoFrees(heldBy('kubectl', 'example.com/x'))).toBe('operator')
  expect(whoFrees(heldBy('kubectl', 'kubernetes.io/pvc-protection'))).not.toBe('operator')
  expect(whoFrees(heldBy('web-operator', 'example.com/x'))).not.toBe('operator')
})
