import { describe, expect, test } from '@jest/globals'
import { decided, GOING, last, ownedBy, type Sketch } from '../../lab/harness/inference/told-by-watch.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'

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

test('a Pod of an old revision that its StatefulSet leaves alone goes by the program that looks after the owner of that', () => {
  const managed = (manager: string, subresource = ''): JsonObject => ({
    managedFields: [{ manager, operation: 'Update', subresource, time: '2026-11-22T19:30:00Z' }],
  })
  const deleted = (hash: string, program = 'db-operator'): [string, string] => {
    const cluster = { kind: 'Cluster', apiVersion: 'example.com/v1', name: 'main' }
    const pod = {
      ...{ kind: 'Pod', name: 'db-0', spec: { nodeName: 'n' } },
      meta: { ...ownedBy('StatefulSet', 'db'), labels: { 'controller-revision-hash': hash } },
    }
    return last(
      { ...cluster, meta: managed('kubectl') },
      { ...cluster, meta: managed(program, 'status'), status: { phase: 'rolling' } },
      {
        ...{ kind: 'StatefulSet', name: 'db', meta: { generation: 1, ...ownedBy('Cluster', 'main') } },
        ...{ spec: { updateStrategy: { type: 'OnDelete' } } },
        status: { observedGeneration: 1, updateRevision: 'new' },
      },
      pod,
      { ...pod, meta: { ...pod.meta, ...GOING } },
    )
  }
  expect(deleted('old')).toEqual(['db-operator', BY_CONTROLLER])
  expect(deleted('new')).toEqual(['unknown', 'operator'])
  expect(deleted('old', 'kubectl')).toEqual(['unknown', 'operator'])
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

test.each(['Deployment', 'StatefulSet'])(
  'a %s is scaled by an autoscaler only where one names it',
  (kind) => {
    const web = { kind, name: 'web', meta: { generation: 1 }, spec: { replicas: 1 } }
    const scaled = { ...web, meta: { generation: 2 }, spec: { replicas: 3 } }
    const spec = { scaleTargetRef: { kind, name: 'web' } }
    const autoscaler = { kind: 'HorizontalPodAutoscaler', name: 'of web', spec }
    expect(last(web, autoscaler, scaled)).toEqual(['horizontal-pod-autoscaler', BY_CONTROLLER])
    expect(last(web, scaled)).toEqual(['unknown', 'operator'])
  },
)

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

test('a StatefulSet that adopts Pods of another revision renews them, though its own two are the same', () => {
  const seen = { currentRevision: 'b', updateRevision: 'b', observedGeneration: 1, replicas: 2 }
  const set = { kind: 'StatefulSet', name: 'db', meta: { generation: 1 }, spec: { replicas: 2 } }
  const pod = { kind: 'Pod', name: 'db-0', meta: ownedBy('StatefulSet', 'db') }
  const going = { ...pod, meta: { ...pod.meta, ...GOING } }
  const has = (updatedReplicas: number): Sketch => ({ ...set, status: { ...seen, updatedReplicas } })
  expect(last(has(1), pod, going)).toEqual(['statefulset-controller', BY_CONTROLLER])
  expect(last(has(2), pod, going)).toEqual(PERSON)
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
  const heldBy = (manager: string, finalizer: string, kind = 'ConfigMap', graceSeconds = 0): Sketch => {
    const entry = { manager, operation: 'Update', fieldsV1: { 'f:metadata': { 'f:finalizers': {} } } }
    const meta = { finalizers: [finalizer], managedFields: [entry], ...GOING }
    return { kind, name: 'held', meta: { ...meta, deletionGracePeriodSeconds: graceSeconds } }
  }
  const whoFrees = (held: Sketch): string => last({ ...held, meta: {} }, held, { ...held, gone: true })[1]
  expect(whoFrees(heldBy('kubectl', 'example.com/x'))).toBe('operator')
  expect(whoFrees(heldBy('kubectl', 'kubernetes.io/pvc-protection'))).not.toBe('operator')
  expect(whoFrees(heldBy('web-operator', 'example.com/x'))).not.toBe('operator')
  // A Pod is not free before its kubelet has ended it.
  expect(whoFrees(heldBy('kubectl', 'example.com/x', 'Pod'))).toBe('operator')
  expect(whoFrees(heldBy('kubectl', 'example.com/x', 'Pod', 30))).not.toBe('operator')
})

test('a Pod more than its Job runs at once is deleted by its controller, as are those of a suspended Job', () => {
  const job = (spec: JsonObject, status: JsonObject = {}): Sketch => ({
    kind: 'Job',
    name: 'batch',
    spec,
    status,
  })
  const pod = (name: string, meta: JsonObject = {}): Sketch => ({
    ...{ kind: 'Pod', name, meta: { ...ownedBy('Job', 'batch'), ...meta } },
  })
  const going = pod('batch-2', GOING)
  const twoAtOnce = [job({ parallelism: 2 }), pod('batch-1'), pod('batch-2')]
  const byController = ['job-controller', BY_CONTROLLER]
  expect(last(...twoAtOnce, going)).toEqual(PERSON)
  expect(last(...twoAtOnce, job({ parallelism: 1 }), going)).toEqual(byController)
  expect(last(...twoAtOnce, job({ parallelism: 2, suspend: true }), going)).toEqual(byController)
  const failing = { conditions: [{ type: 'FailureTarget', status: 'True' }] }
  expect(last(...twoAtOnce, job({ parallelism: 2 }, failing), going)).toEqual(byController)
})

test('a Job that one Pod ends, or its deadline, deletes the others; the deletions follow from that Pod', () => {
  const job = (spec: JsonObject): Sketch => ({
    ...{ kind: 'Job', name: 'batch', spec: { parallelism: 2, ...spec } },
    status: { startTime: '1970-01-01T00:00:00Z' },
  })
  const pod = (name: string, phase: string, meta: JsonObject = {}): Sketch => ({
    ...{ kind: 'Pod', name, status: { phase }, meta: { ...ownedBy('Job', 'batch'), ...meta } },
  })
  const held = { finalizers: ['batch.kubernetes.io/job-tracking'] }
  const [one, other, going] = [
    pod('batch-1', 'Running', held),
    pod('batch-2', 'Running', held),
    pod('batch-2', 'Running', { ...held, ...GOING }),
  ]
  const byController = ['job-controller', BY_CONTROLLER]
  const running = [job({}), one, other]
  expect(last(...running, going)).toEqual(PERSON)
  const failed = pod('batch-1', 'Failed', held)
  expect(last(...running, failed, going)).toEqual(byController)
  const decision = decided(...running, failed, going).at(-1)
  expect(decision?.reads.map(({ identity }) => identity.name)).toEqual(['batch-2', 'batch', 'batch-1'])
  // Its controller has counted it, and goes on.
  expect(last(...running, failed, pod('batch-1', 'Failed'), going)).toEqual(PERSON)
  expect(last(...running, job({ activeDeadlineSeconds: 0 }), going)).toEqual(byController)
  expect(last(...running, job({ activeDeadlineSeconds: 60 }), going)).toEqual(PERSON)
})

test('a Pod that its kubelet has ended and its Job has not counted goes once the Job is deleted', () => {
  const job: Sketch = { kind: 'Job', name: 'batch' }
  const of = { ...ownedBy('Job', 'batch'), finalizers: ['batch.kubernetes.io/job-tracking'] }
  const pod = { kind: 'Pod', name: 'batch-1', meta: { ...of, ...GOING, deletionGracePeriodSeconds: 0 } }
  const [deletion, removal] = decided(
    job,
    { ...pod, meta: of },
    pod,
    { ...job, gone: true },
    { ...pod, gone: true },
  ).slice(-2)
  expect(removal?.writer.service).toBe('job-controller')
  expect(removal?.reads.map(({ known }) => known.version)).toContain(deletion?.version)
})

test.each([
  ['its time is over', { ttlSecondsAfterFinished: 0 }, 'Completed', ['set-controller', BY_CONTROLLER]],
  [
    'its time is over, by its policy',
    { runPolicy: { ttlSecondsAfterFinished: 0 } },
    'Failed',
    ['set-controller', BY_CONTROLLER],
  ],
  ['it is to stay for longer', { ttlSecondsAfterFinished: 60 }, 'Completed', PERSON],
  ['it still runs', { ttlSecondsAfterFinished: 0 }, 'Ready', PERSON],
])(
  'a custom resource that has finished is deleted by its controller or a person: %s',
  (_why, spec, type, by) => {
    const set = { kind: 'JobSet', apiVersion: 'example.com/v1', name: 'train', spec }
    const status = { conditions: [{ type, status: 'True', lastTransitionTime: '1970-01-01T00:00:00Z' }] }
    const meta = {
      managedFields: [{ manager: 'set-controller', operation: 'Update', subresource: 'status' }],
    }
    const ended = { ...set, status, meta }
    expect(last(set, ended, { ...ended, gone: true })).toEqual(by)
  },
)

test('what a Deployment no longer keeps of its history is deleted by its controller', () => {
  const web = (revisionHistoryLimit: number): Sketch => ({
    ...{ kind: 'Deployment', name: 'web', spec: { revisionHistoryLimit } },
  })
  const set = (name: string, replicas: number): Sketch => ({
    ...{ kind: 'ReplicaSet', name, meta: ownedBy('Deployment', 'web') },
    spec: { replicas, template: { spec: { image: name } } },
  })
  const gone = { ...set('web-1', 0), gone: true }
  const sets = [set('web-1', 0), set('web-2', 0), set('web-3', 2)]
  expect(last(web(2), ...sets, gone)).toEqual(PERSON)
  expect(last(web(1), ...sets, gone)).toEqual(['deployment-controller', BY_CONTROLLER])
  expect(last(web(0), ...sets, { ...set('web-3', 2), gone: true })).toEqual(PERSON)
})

test.each([
  ['StatefulSet', 'statefulset-controller'],
  ['DaemonSet', 'daemon-set-controller'],
])(
  'revisions beyond those that a %s keeps are deleted by its controller, and others by a person',
  (kind, by) => {
    const owner = (spec: JsonObject): Sketch => ({ kind, name: 'db', spec })
    const revisions = [1, 2].map((revision) => ({
      ...{ kind: 'ControllerRevision', name: `db-${revision}`, meta: ownedBy(kind, 'db') },
    }))
    const deleted = (spec: JsonObject): [string, string] =>
      last(owner(spec), ...revisions, { ...revisions[0]!, gone: true })
    expect(deleted({ revisionHistoryLimit: 1 })).toEqual([by, BY_CONTROLLER])
    expect(deleted({ revisionHistoryLimit: 2 })).toEqual(PERSON)
    expect(deleted({})).toEqual(PERSON)
  },
)

test.each([
  ['StatefulSet', 'statefulset-controller'],
  ['DaemonSet', 'daemon-set-controller'],
])('a Pod of a %s that has ended is deleted by its controller; one that runs, by a person', (kind, by) => {
  const pod = (phase: string, meta: JsonObject = {}): Sketch => ({
    ...{ kind: 'Pod', name: 'db-0', meta: { ...ownedBy(kind, 'db'), ...meta }, status: { phase } },
  })
  const owner = {
    ...{ kind, name: 'db', meta: { generation: 1 } },
    status: { currentRevision: 'a', updateRevision: 'a', observedGeneration: 1 },
  }
  expect(last(owner, pod('Running'), pod('Failed'), pod('Failed', GOING))).toEqual([by, BY_CONTROLLER])
  expect(last(owner, pod('Running'), pod('Running', GOING))).toEqual(PERSON)
})

describe('a Pod that leads a group', () => {
  const group = (manager: string, subresource: string, status: JsonObject): Sketch => ({
    ...{ kind: 'Group', apiVersion: 'example.com/v1', name: 'g', status },
    meta: {
      managedFields: [{ manager, subresource, operation: 'Update', time: '2026-11-22T19:30:00Z' }],
    },
  })
  const leader = (meta: JsonObject = {}): Sketch => ({
    ...{ kind: 'Pod', name: 'm-0', meta: { ...ownedBy('StatefulSet', 'm'), ...meta } },
  })
  const worker = (meta: JsonObject = {}): Sketch => ({
    ...{ kind: 'Pod', name: 'w-0', meta: { ...ownedBy('StatefulSet', 'w'), ...meta } },
  })
  const there = [
    group('kubectl', '', {}),
    group('group-operator', 'status', { phase: 'ready' }),
    ...[{ kind: 'StatefulSet', name: 'm', meta: ownedBy('Group', 'g') }, leader()],
    { kind: 'StatefulSet', name: 'w', meta: ownedBy('Pod', 'm-0') },
    worker(),
  ]

  test('is deleted by the program that looks after the group where another of it has just gone', () => {
    const decision = decided(...there, worker(GOING), leader(GOING)).at(-1)
    expect([decision?.writer.service, decision?.cause]).toEqual(['group-operator', BY_CONTROLLER])
    expect(decision?.reads.map(({ identity }) => identity.name)).toContain('w-0')
  })

  test.each([
    ['nothing has gone', []],
    ['it was written since', [worker(GOING), leader({ labels: { a: 'b' } })]],
    [
      'what went has been replaced',
      [worker(GOING), worker({ ...GOING, uid: 'uid of w-0' }), worker({ uid: 'new' })],
    ],
  ])('is deleted by a person where %s', (_, since) => {
    expect(last(...there, ...since, leader(GOING))).toEqual(PERSON)
  })
})

test('a Pod goes for a custom resource that names what it belongs to, while there is something to do for that', () => {
  const restart = (deployment: string, done?: number): Sketch => ({
    ...{ kind: 'Restart', apiVersion: 'example.com/v1', name: 'now', meta: { generation: 1 } },
    ...{ spec: { deployment }, ...(done !== undefined && { status: { done } }) },
  })
  const pod = { kind: 'Pod', name: 'web-1-a', meta: ownedBy('ReplicaSet', 'web-1') }
  const deleted = (...before: Sketch[]): string => {
    const meta = ownedBy('Deployment', 'web')
    const set = { kind: 'ReplicaSet', apiVersion: 'apps/v1', name: 'web-1', meta, spec: { replicas: 1 } }
    const web = { kind: 'Deployment', apiVersion: 'apps/v1', name: 'web' }
    return last(web, set, pod, ...before, { ...pod, meta: { ...pod.meta, ...GOING } })[1]
  }
  expect(deleted(restart('web'))).toBe(BY_CONTROLLER)
  expect(deleted(restart('web'), restart('web', 1))).toBe('operator')
  expect(deleted(restart('api'))).toBe('operator')
})

test('a StatefulSet renews no Pod below its partition: that is deleted by a person', () => {
  const spec = { updateStrategy: { rollingUpdate: { partition: 2 } }, ordinals: { start: 5 } }
  const status = { currentRevision: 'a', updateRevision: 'b', observedGeneration: 1 }
  const db = { kind: 'StatefulSet', name: 'db', meta: { generation: 1 }, spec, status }
  const deleted = (name: string): [string, string] => {
    const pod = { kind: 'Pod', name, meta: ownedBy('StatefulSet', 'db') }
    return last(db, pod, { ...pod, meta: { ...pod.meta, ...GOING } })
  }
  expect(deleted('db-6')).toEqual(PERSON)
  expect(deleted('db-7')).toEqual(['statefulset-controller', BY_CONTROLLER])
})

test('a volume that nobody claims any more goes as it says, and a mirrored slice with its mirror', () => {
  const volume = (phase: string, persistentVolumeReclaimPolicy: string): Sketch => ({
    ...{ kind: 'PersistentVolume', name: 'a', spec: { persistentVolumeReclaimPolicy }, status: { phase } },
  })
  const ended = (one: Sketch): [string, string] => last(one, { ...one, meta: GOING })
  expect(ended(volume('Released', 'Delete'))).toEqual(['persistent-volume-binder', BY_CONTROLLER])
  expect(ended(volume('Released', 'Retain'))).toEqual(PERSON)
  expect(ended(volume('Bound', 'Delete'))).toEqual(PERSON)
  const slice = { kind: 'EndpointSlice', name: 'web-1', meta: ownedBy('Endpoints', 'web') }
  expect(last({ kind: 'Endpoints', name: 'web' }, slice, { ...slice, gone: true })).toEqual([
    'endpointslicemirroring-controller',
    BY_CONTROLLER,
  ])
})

test('an address goes for the Service that gives it up, and a claim gets the class that became the usual one', () => {
  const reads = (...told: Sketch[]): string[] =>
    (decided(...told).at(-1)?.reads ?? []).map(({ identity, known }) => `${identity.name}@${known.version}`)
  const parentRef = { resource: 'services', namespace: 'shop', name: 'web' }
  const address = { kind: 'IPAddress', name: '10.0.0.7', meta: { namespace: '' }, spec: { parentRef } }
  const service = (...clusterIPs: string[]): Sketch => ({
    kind: 'Service',
    name: 'web',
    spec: { clusterIPs },
  })
  const given = [service('10.0.0.7'), address, service(), { ...address, gone: true }]
  expect(reads(...given)).toContain('web@3')
  expect(last(...given)).toEqual(['kube-apiserver', BY_CONTROLLER])
  const claim = (storageClassName: string): Sketch => ({
    ...{ kind: 'PersistentVolumeClaim', name: 'data', spec: { storageClassName } },
    meta: { managedFields: [{ manager: 'kube-controller-manager', operation: 'Update', time: 't' }] },
  })
  const usual = { kind: 'StorageClass', name: 'usual', meta: { namespace: '' } }
  expect(reads(claim(''), usual, claim('usual'))).toContain('usual@2')
  expect(
    reads(usual, claim('usual'), { ...claim('usual'), spec: { storageClassName: 'usual', a: 1 } }),
  ).toEqual(['data@2'])
})
