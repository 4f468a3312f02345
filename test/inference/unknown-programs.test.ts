import { expect, test } from '@jest/globals'
import { decided, last, ownedBy, type Sketch } from '../../lab/harness/inference/told-by-watch.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'

/** Nobody has seen what this program is. */
const PROGRAM = 'deployer'
const PERSON = [PROGRAM, 'operator']
const RUNNING = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }

/** Entries of managedFields, each a second after the one before. */
const signed = (...managers: (readonly [manager: string, subresource?: string])[]): JsonObject => ({
  managedFields: managers.map(([manager, subresource = ''], at) => ({
    ...{ manager, subresource, operation: 'Update', time: `2026-11-22T19:30:0${at}Z`, fieldsV1: {} },
  })),
})

test('who makes an object for one that no controller looks after is a person', () => {
  const made = (owner: Sketch, isController: boolean): [string, string] => {
    const { kind, name } = owner
    const ownerReferences = [{ kind, name, uid: `uid of ${name}`, controller: isController }]
    return last(owner, { kind: 'ConfigMap', name: 'owned', meta: { ownerReferences, ...signed([PROGRAM]) } })
  }
  const map = { kind: 'ConfigMap', name: 'owner' }
  expect(made(map, false)).toEqual(PERSON)
  expect(made(map, true)[1]).toBe('inferred')
  expect(made({ kind: 'Shop', apiVersion: 'example.com/v1', name: 'shop' }, false)[1]).toBe('inferred')
})

test('who says of a Pod that it ended, beside its kubelet, is a person; who adds to what that says may not be', () => {
  const pod = (status: JsonObject, ...by: [string, string?][]): Sketch => ({
    ...{ kind: 'Pod', name: 'batch-1', status },
    meta: { ...ownedBy('Job', 'batch'), ...signed(['kube-controller-manager'], ...by) },
  })
  const job = { kind: 'Job', name: 'batch', spec: { parallelism: 1 } }
  const running = pod(RUNNING, ['some-kubelet', 'status'])
  const ended = { phase: 'Failed', conditions: [{ type: 'Ready', status: 'False' }] }
  const [kubelet, other] = [
    ['some-kubelet', 'status'] as [string, string],
    [PROGRAM, 'status'] as [string, string],
  ]
  expect(last(job, running, pod(ended, kubelet, other))).toEqual(PERSON)
  expect(last(job, running, pod(ended, kubelet, ['kube-controller-manager', 'status']))[1]).toBe('inferred')
  const gate = {
    ...RUNNING,
    conditions: [...RUNNING.conditions, { type: 'example.com/gate', status: 'True' }],
  }
  expect(last(job, running, pod(gate, kubelet, other))[1]).toBe('inferred')
  const unready = { ...RUNNING, conditions: [{ type: 'Ready', status: 'False' }] }
  const byPerson = pod(unready, kubelet, ['kubectl', 'status'])
  expect(last(job, running, byPerson, pod(RUNNING, kubelet, other))).toEqual(PERSON)
  const again = pod(unready, kubelet, ['kubectl', 'status'], other)
  expect(last(job, running, pod(RUNNING, kubelet, other), again)).toEqual(PERSON)
  expect(last(job, running, byPerson, pod(RUNNING, ['kubectl', 'status'], kubelet))[1]).toBe('inferred')
  const scheduler: [string, string] = ['kube-scheduler', 'status']
  const pending = pod({ phase: 'Pending' }, scheduler)
  expect(last(job, pending, pod(RUNNING, scheduler, other))[1]).toBe('inferred')
  // A kubelet itself goes on.
  expect(last(job, running, pod(ended, ['some-kubelet', 'status']))[1]).toBe('inferred')
})

test('who writes a status that only controllers of Kubernetes write is a person', () => {
  const told = (kind: string, apiVersion: string): [string, string] => {
    const made: Sketch = { kind, apiVersion, name: 'web', meta: signed(['kubectl']) }
    return last(made, { ...made, status: { replicas: 1 }, meta: signed(['kubectl'], [PROGRAM, 'status']) })
  }
  expect(told('Deployment', 'apps/v1')).toEqual(PERSON)
  expect(told('PodDisruptionBudget', 'policy/v1')).toEqual(PERSON)
  expect(told('Service', 'v1')[1]).toBe('inferred')
  expect(told('Deployment', 'example.com/v1')[1]).toBe('inferred')
})

test('who approves a request for a certificate long after that was made is a person', () => {
  const approved = (second: number): [string, string] => {
    const entry = { manager: PROGRAM, operation: 'Update', subresource: 'approval' }
    const made: Sketch = {
      ...{ kind: 'CertificateSigningRequest', apiVersion: 'certificates.k8s.io/v1', name: 'node' },
      meta: signed(['kubelet']),
    }
    const managedFields = [{ ...entry, time: `2026-11-22T19:30:${String(second).padStart(2, '0')}Z` }]
    return last(made, { ...made, meta: { managedFields }, status: { conditions: [{ type: 'Approved' }] } })
  }
  expect(approved(10)).toEqual(PERSON)
  expect(approved(2)[1]).toBe('inferred')
})

test('who changes what a Pod is to be does not do so because a status of its owner changed', () => {
  const set = (status: JsonObject): Sketch => ({
    kind: 'ReplicaSet',
    name: 'web',
    meta: { generation: 1 },
    status,
  })
  const pod = (generation: number, meta: JsonObject, spec: JsonObject): Sketch => ({
    ...{ kind: 'Pod', name: 'web-1', meta: { generation, ...ownedBy('ReplicaSet', 'web'), ...meta }, spec },
  })
  const made = pod(1, signed(['kube-controller-manager']), { containers: [{ name: 'c' }] })
  const debugged = pod(2, signed(['kube-controller-manager'], [PROGRAM, 'ephemeralcontainers']), {
    ...{ containers: [{ name: 'c' }], ephemeralContainers: [{ name: 'debug' }] },
  })
  expect(last(set({}), made, set({ replicas: 1 }), debugged)).toEqual(PERSON)
  const annotations = { 'example.com/address': '10.0.0.7' }
  const annotated = pod(
    1,
    { annotations, ...signed(['kube-controller-manager'], [PROGRAM]) },
    {
      containers: [{ name: 'c' }],
    },
  )
  expect(decided(set({}), made, set({ replicas: 1 }), annotated).at(-1)?.cause).toBe('inferred')
})

test('who annotates a Pod that runs does not do so because a status of its owner changed', () => {
  const set = (status: JsonObject): Sketch => ({ kind: 'ReplicaSet', name: 'web', status })
  const pod = (status: JsonObject, ...by: string[]): Sketch => ({
    ...{ kind: 'Pod', name: 'web-1', status },
    meta: {
      ...{ annotations: { by: by.join(' ') }, ...ownedBy('ReplicaSet', 'web') },
      ...signed(['kube-controller-manager'], ...by.map((one): [string] => [one])),
    },
  })
  const [starting, running] = [{ phase: 'Pending' }, { ...RUNNING, podIP: '10.0.0.7' }]
  expect(last(set({}), pod(running), set({ replicas: 1 }), pod(running, PROGRAM))).toEqual(PERSON)
  expect(last(set({}), pod(starting), set({ replicas: 1 }), pod(starting, PROGRAM))[1]).toBe('inferred')
})

test('a controller of Kubernetes that signs with its own name is no person', () => {
  const name = 'clusterrole-aggregation-controller'
  const role = (by: string[], rules: string[]): Sketch => ({
    ...{ kind: 'ConfigMap', name: 'role' },
    meta: {
      labels: Object.fromEntries(rules.map((rule) => [rule, 'y'])),
      ...signed(...by.map((one): [string] => [one])),
    },
  })
  expect(last(role(['kubectl'], []), role(['kubectl', name], ['a']))).toEqual([name, 'inferred'])
  expect(last(role(['kubectl'], []), role(['kubectl', PROGRAM], ['a']))).toEqual(PERSON)
})

test('a StatefulSet that keeps no claims makes them belong to its Pods, and its controller does that', () => {
  const claim = { metadata: { name: 'data' } }
  const db = (replicas: number): Sketch => ({
    ...{ kind: 'StatefulSet', name: 'db', meta: { generation: replicas } },
    spec: { replicas, volumeClaimTemplates: [claim] },
  })
  const pod = { kind: 'Pod', name: 'db-1', meta: ownedBy('StatefulSet', 'db') }
  const data = { kind: 'PersistentVolumeClaim', name: 'data-db-1' }
  const decision = decided(db(2), pod, data, db(1), { ...data, meta: ownedBy('Pod', 'db-1') }).at(-1)
  expect(decision).toMatchObject({ writer: { service: 'statefulset-controller' }, cause: 'inferred' })
  expect(decision?.reads.map(({ identity, known }) => [identity.name, known.version])).toContainEqual([
    'db',
    4n,
  ])
})

test('who sets back within seconds what it wrote itself is no person', () => {
  const map = (value: string, ...by: (readonly [manager: string, second: number])[]): Sketch => {
    const managedFields = by.map(([manager, second]) => ({
      ...{ manager, operation: 'Update', time: `2026-11-22T19:30:${second}Z`, fieldsV1: {} },
    }))
    return { kind: 'ConfigMap', name: 'map', meta: { labels: { value }, managedFields } }
  }
  const made = map('a', [PROGRAM, 10])
  const changed = map('b', [PROGRAM, 10], ['kubectl', 20])
  const backAt = (second: number, value = 'a') => map(value, ['kubectl', 20], [PROGRAM, second])
  expect(last(made, changed, backAt(22))[1]).toBe('inferred')
  expect(last(made, changed, backAt(40))).toEqual(PERSON)
  expect(last(made, changed, backAt(22, 'c'))).toEqual(PERSON)
  // Another one made it.
  expect(last(map('a', ['kubectl', 10]), changed, backAt(22))).toEqual(PERSON)
})

test('who changes a volume does so because its claim has just changed, or is a person; the binder is none', () => {
  const written = (by: string, second: number): JsonObject => ({
    managedFields: [
      { manager: by, operation: 'Update', time: `2026-11-22T19:30:${String(second)}Z`, fieldsV1: {} },
    ],
  })
  const volume = (policy: string, meta: JsonObject): Sketch => ({
    ...{ kind: 'PersistentVolume', name: 'v', meta },
    spec: { persistentVolumeReclaimPolicy: policy, claimRef: { namespace: 'shop', name: 'c' } },
  })
  const claim = (volumeName: string, meta: JsonObject): Sketch => ({
    ...{ kind: 'PersistentVolumeClaim', name: 'c', meta, spec: { volumeName } },
  })
  const binder = 'kube-controller-manager'
  const bound = [
    ...[claim('', written('kubectl', 10)), volume('Retain', written('kubectl', 11))],
    claim('v', written(binder, 12)),
  ]
  expect(last(...bound, volume('Delete', written(PROGRAM, 20)))).toEqual(PERSON)
  expect(last(...bound, volume('Delete', written(PROGRAM, 13)))[1]).toBe('inferred')
  expect(last(...bound, volume('Delete', written(binder, 20)))[1]).toBe('inferred')
})

test('a count is left out of a status by its program where something below has changed; else by a person', () => {
  const written = (manager: string, subresource = ''): JsonObject => ({
    ...{ manager, subresource, operation: 'Update', time: '1970-01-01T00:00:00Z', fieldsV1: {} },
  })
  const set = (status: JsonObject, managers: JsonObject[], seenNs?: bigint): Sketch => ({
    ...{ kind: 'Set', apiVersion: 'example.com/v1', name: 'set', meta: { managedFields: managers }, status },
    ...(seenNs !== undefined && { seenNs }),
  })
  const pod = (phase: string): Sketch => ({
    ...{ kind: 'Pod', name: 'pod', meta: ownedBy('ReplicaSet', 'part'), status: { phase } },
  })
  const both = [written('kubectl'), written('set-operator', 'status')]
  const before = [
    ...[set({}, both.slice(0, 1)), set({ text: 'new', ready: 1 }, both)],
    ...[{ kind: 'ReplicaSet', name: 'part', meta: ownedBy('Set', 'set') }, pod('Running')],
    set({ text: 'all', ready: 1 }, [...both, written('set-operator', 'scale')]),
  ]
  const left = set({ text: 'all' }, [...both, written('set-operator', 'scale')], 10_000_000_000n)
  expect(last(...before, pod('Failed'), left)).toEqual(['set-operator', 'inferred'])
  expect(last(...before, left)).toEqual(['unknown', 'operator'])
})
