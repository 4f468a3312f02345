import { expect, test } from '@jest/globals'
import { decided, GOING, last, ownedBy, type Sketch } from '../../lab/harness/inference/told-by-watch.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'

const BY_CONTROLLER = 'inferred'
const PERSON = ['unknown', 'operator']

test('a namespace in which something is left is finalized by a person', () => {
  const [namespace, held] = [
    { kind: 'Namespace', name: 'shop' },
    { kind: 'ConfigMap', name: 'held' },
  ]
  const message = 'Some resources are remaining: configmaps. has 1 resource instances'
  const left: Sketch = {
    ...{ ...namespace, meta: GOING },
    status: { conditions: [{ type: 'NamespaceContentRemaining', status: 'True', message }] },
  }
  const removed = { ...left, gone: true }
  expect(last(namespace, held, left, removed)).toEqual(PERSON)
  expect(last(namespace, held, left, { ...held, gone: true }, removed)).toEqual([
    ...['namespace-controller', BY_CONTROLLER],
  ])
})

test('a Pod that its StatefulSet does not count any more is deleted by its controller', () => {
  const db: Sketch = { kind: 'StatefulSet', name: 'db', spec: { replicas: 2, ordinals: { start: 1 } } }
  const deleted = (name: string): [string, string] => {
    const pod: Sketch = { kind: 'Pod', name, meta: ownedBy('StatefulSet', 'db') }
    return last(db, pod, { ...pod, meta: { ...pod.meta, ...GOING } })
  }
  expect(deleted('db-0')).toEqual(['statefulset-controller', BY_CONTROLLER])
  expect(deleted('db-1')).toEqual(PERSON)
  expect(deleted('db-2')).toEqual(PERSON)
  expect(deleted('db-3')).toEqual(['statefulset-controller', BY_CONTROLLER])
})

test('a Pod that goes and that no kubelet ends is removed for its node', () => {
  const node = (...taints: JsonObject[]): Sketch => ({ kind: 'Node', name: 'n1', spec: { taints } })
  const removed = (...nodes: Sketch[]): [string, string[]] => {
    const pod: Sketch = { kind: 'Pod', name: 'web-1', spec: { nodeName: 'n1' } }
    const going = { ...pod, meta: GOING }
    const decision = decided(node(), pod, going, ...nodes, { ...going, gone: true }).at(-1)!
    return [decision.writer.service, decision.reads.map(({ identity }) => identity.name)]
  }
  const out = node({ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' })
  const silent = node({ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' })
  expect(removed(out)).toEqual(['pod-garbage-collector', ['web-1', 'n1']])
  expect(removed({ ...node(), gone: true })).toEqual(['pod-garbage-collector', ['web-1', 'n1']])
  expect(removed(silent)).toEqual(['kubelet', ['web-1']])
})

test.each([{}, { pool: 'a' }])(
  'a Pod whose device got a taint goes by the controller of those, and for the device (%j)',
  (nodeSelector) => {
    const slice = (...taints: JsonObject[]): Sketch => ({
      ...{ kind: 'ResourceSlice', apiVersion: 'resource.k8s.io/v1', name: 'devices' },
      ...{ meta: { namespace: '' }, spec: { devices: [{ name: 'one', taints }] } },
    })
    const pod: Sketch = { kind: 'Pod', name: 'web-1', spec: { nodeName: 'n1', nodeSelector } }
    const reason = 'DeletionByDeviceTaintManager'
    const status = { conditions: [{ type: 'DisruptionTarget', status: 'True', reason }] }
    const marked: Sketch = { ...pod, status }
    const tainted = slice({ key: 'broken', effect: 'NoExecute' })
    const decisions = decided(slice(), pod, tainted, marked, { ...marked, meta: GOING }).slice(-2)
    expect(decisions.map(({ writer }) => writer.service)).toEqual([
      ...['device-taint-eviction-controller', 'device-taint-eviction-controller'],
    ])
    expect(decisions.flatMap(({ reads }) => reads.map(({ identity }) => identity.name))).toEqual([
      ...['web-1', 'devices', 'web-1'],
    ])
  },
)

test.each([
  {
    kind: 'StatefulSet',
    by: 'statefulset-controller',
    label: 'controller-revision-hash',
    owner: { status: { currentRevision: 'old', updateRevision: 'new', observedGeneration: 1 } },
  },
  {
    kind: 'DaemonSet',
    by: 'daemon-set-controller',
    label: 'pod-template-generation',
    owner: {
      meta: { annotations: { 'deprecated.daemonset.template.generation': 'new' } },
      status: { updatedNumberScheduled: 1, currentNumberScheduled: 2, observedGeneration: 1 },
    },
  },
])('a Pod that its $kind has renewed is deleted by a person', ({ kind, by, label, owner }) => {
  const set: Sketch = { ...owner, kind, name: 'db', meta: { generation: 1, ...owner.meta } }
  const deleted = (revision: string, gone = false): [string, string] => {
    const pod: Sketch = {
      ...{ kind: 'Pod', name: 'db-0' },
      meta: { ...ownedBy(kind, 'db'), labels: { [label]: revision } },
    }
    return last(set, pod, gone ? { ...pod, gone } : { ...pod, meta: { ...pod.meta, ...GOING } })
  }
  expect(deleted('new')).toEqual(PERSON)
  // Without a grace period it may be a kubelet's, which meant the Pod before it with the same name.
  expect(deleted('new', true)).toEqual([by, BY_CONTROLLER])
  expect(deleted('old')).toEqual([by, BY_CONTROLLER])
})

test('a Job that has finished is deleted by a person before its time is over, and so are its Pods after its deadline', () => {
  const at = (second: number): bigint => BigInt(second) * 1_000_000_000n
  const status = {
    startTime: '1970-01-01T00:00:00Z',
    conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: '1970-01-01T00:00:10Z' }],
  }
  const spec = { ttlSecondsAfterFinished: 20, activeDeadlineSeconds: 15 }
  const job: Sketch = { kind: 'Job', name: 'work', spec, status, seenNs: at(10) }
  const pod: Sketch = {
    ...{ kind: 'Pod', name: 'work-1', meta: ownedBy('Job', 'work'), seenNs: at(11) },
    status: { phase: 'Succeeded' },
  }
  const gone = (one: Sketch, second: number): Sketch => ({ ...one, gone: true, seenNs: at(second) })
  expect(last(job, gone(job, 25))).toEqual(PERSON)
  expect(last(job, gone(job, 31))).toEqual(['ttl-after-finished-controller', 'self'])
  expect(last(job, pod, gone(pod, 25))).toEqual(PERSON)
})

test('a Pod that its ReplicationController has too many of is deleted by its controller', () => {
  const web: Sketch = { kind: 'ReplicationController', name: 'web', spec: { replicas: 1 } }
  const pods = ['a', 'b'].map((name): Sketch => ({
    ...{ kind: 'Pod', name, meta: ownedBy('ReplicationController', 'web') },
  }))
  const going = { ...pods[0]!, meta: { ...pods[0]!.meta, ...GOING } }
  expect(last(web, ...pods, going)).toEqual(['replication-controller', BY_CONTROLLER])
  expect(last(web, pods[0]!, going)).toEqual(PERSON)
})

test('what becomes of a Pod whose kubelet is silent is told by other controllers, and for its node', () => {
  const node = (...taints: JsonObject[]): Sketch => ({ kind: 'Node', name: 'n1', spec: { taints } })
  const pod = (ready: string, second: number, more: JsonObject = {}, phase = 'Running'): Sketch => {
    const time = `2026-11-22T19:30:0${second}Z`
    const manager = second === 0 ? 'kubelet' : 'kube-controller-manager'
    const managedFields = [{ manager, operation: 'Update', subresource: 'status', time }]
    return {
      ...{ kind: 'Pod', name: 'web-1', spec: { nodeName: 'n1' }, meta: { managedFields, ...more } },
      status: { phase, conditions: [{ type: 'Ready', status: ready }] },
    }
  }
  const told = (...sketches: Sketch[]): [string, string[]] => {
    const decision = decided(...sketches).at(-1)!
    return [decision.writer.service, decision.reads.map(({ identity }) => identity.name)]
  }
  const silent = node({ key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' })
  const lost = pod('False', 0, GOING)
  expect(told(node(), pod('True', 0), silent, pod('False', 1))).toEqual(['node-controller', ['web-1', 'n1']])
  const out = node({ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' })
  expect(told(node(), lost, out, pod('False', 1, GOING, 'Failed'))).toEqual([
    ...['pod-garbage-collector', ['web-1', 'n1']],
  ])
  expect(told(node(), pod('False', 0), silent, pod('True', 1))).toEqual(['kubelet', ['web-1']])
})
