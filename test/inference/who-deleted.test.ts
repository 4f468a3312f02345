import { expect, test } from '@jest/globals'
import { MemoryChanges } from '../../lab/harness/inference/memory-changes.ts'
import { MemoryObjects } from '../../lab/harness/inference/memory-objects.ts'
import { decide, type Decision } from '../../src/kube/inference/decide.ts'
import { RELATIONS } from '../../src/kube/inference/relations.ts'
import { WriteQueue } from '../../src/kube/inference/write-queue.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'

const SETTINGS = { cluster: 'test', relations: RELATIONS, operators: [], controllers: [] }
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
  return line.takeDue(100n).flatMap((write) => {
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
