import { expect, test } from '@jest/globals'
import { decided, ownedBy, type Sketch } from '../../lab/harness/inference/told-by-watch.ts'

const set = (message?: string, replicas = 0): Sketch => ({
  ...{
    kind: 'ReplicaSet',
    apiVersion: 'apps/v1',
    name: 'web',
    meta: { generation: 1 },
    spec: { replicas: 2 },
  },
  status: {
    ...{ replicas, observedGeneration: 1 },
    conditions: message === undefined ? [] : [{ type: 'ReplicaFailure', status: 'True', message }],
  },
})
const pod = (name: string, owner = 'ReplicaSet'): Sketch => ({
  ...{ kind: 'Pod', name, meta: ownedBy(owner, owner === 'ReplicaSet' ? 'web' : 'db') },
  spec: { serviceAccountName: 'robot', priorityClassName: 'high' },
})
const account: Sketch = { kind: 'ServiceAccount', name: 'robot' }
const high: Sketch = {
  ...{ kind: 'PriorityClass', apiVersion: 'scheduling.k8s.io/v1', name: 'high' },
  meta: { namespace: '' },
}
const policy: Sketch = {
  ...{ kind: 'ValidatingAdmissionPolicy', apiVersion: 'admissionregistration.k8s.io/v1', name: 'images' },
  meta: { namespace: '' },
}
const shop = (level: string): Sketch => ({
  ...{ kind: 'Namespace', name: 'shop', meta: { labels: { 'pod-security.kubernetes.io/enforce': level } } },
})
const hook: Sketch = {
  ...{ kind: 'ValidatingWebhookConfiguration', apiVersion: 'admissionregistration.k8s.io/v1', name: 'asks' },
  meta: { namespace: '' },
}
const limits: Sketch = { kind: 'LimitRange', name: 'small', spec: { limits: [] } }
const changed = (one: Sketch): Sketch => ({ ...one, spec: { limits: [{ type: 'Container' }] } })

/** The last of these that the last one follows from, beside its own object. */
function newest(...sketches: Sketch[]): string | undefined {
  const last = decided(...sketches).at(-1)
  const reads = last?.reads.filter(({ identity }) => identity.uid !== last.write.object.uid) ?? []
  return reads.reduce<(typeof reads)[number] | undefined>(
    (one, other) => ((one?.actedOn ?? one?.known.version ?? 0n) > other.known.version ? one : other),
    undefined,
  )?.identity.name
}

const NO_ACCOUNT = 'pods "web-" is forbidden: serviceaccount "robot" not found'
const NO_CLASS = 'pods "web-" is forbidden: no PriorityClass with name high was found'
const TOO_MUCH = 'pods "web-" is forbidden: maximum cpu usage per Container is 50m, but limit is 100m.'
const UNSAFE = 'pods "web-" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'
const UNASKED = 'Internal error occurred: failed calling webhook "pods.example.com": failed to call webhook'
const DENIED = `pods "web-" is forbidden: ValidatingAdmissionPolicy 'images' with binding 'all' denied request`

test('a Pod that had been refused follows from what lets it through', () => {
  expect(newest(set(), set(NO_ACCOUNT), account, pod('a'))).toBe('robot')
  expect(newest(set(), set(NO_ACCOUNT), account, pod('a'), pod('b'))).toBe('robot')
  expect(newest(set(), set(NO_CLASS), high, pod('a'))).toBe('high')
  expect(newest(limits, set(), set(TOO_MUCH), changed(limits), pod('a'))).toBe('small')
  expect(newest(policy, set(), set(DENIED), changed(policy), pod('a'))).toBe('images')
  expect(newest(set(), set(NO_ACCOUNT), limits, account, pod('a'))).toBe('robot')
  expect(newest(policy, set(), set(TOO_MUCH), changed(policy), pod('a'))).toBe('web')
})

test('so does one that the level of its namespace, or a webhook that does not answer, had refused', () => {
  const [tight, wide] = [shop('restricted'), shop('privileged')]
  const before: Sketch = { kind: 'Pod', name: 'before' }
  expect(newest(tight, set(), set(UNSAFE), wide, pod('a'))).toBe('shop')
  expect(newest(wide, before, set(), set(UNSAFE), pod('a'))).toBe('web')
  expect(newest(hook, set(), set(UNASKED), { ...hook, gone: true }, pod('a'))).toBe('asks')
})

test('so does that of a StatefulSet, which does not say that it was refused', () => {
  const db: Sketch = { kind: 'StatefulSet', apiVersion: 'apps/v1', name: 'db', meta: { generation: 1 } }
  expect(newest(db, account, pod('db-0', 'StatefulSet'))).toBe('robot')
  expect(newest(db, limits, pod('db-0', 'StatefulSet'))).toBe('small')
  expect(newest(shop('restricted'), db, shop('privileged'), pod('db-0', 'StatefulSet'))).toBe('shop')
  expect(newest(hook, db, { ...hook, gone: true }, pod('db-0', 'StatefulSet'))).toBe('asks')
  const revision: Sketch = {
    kind: 'ControllerRevision',
    name: 'revision',
    meta: ownedBy('StatefulSet', 'db'),
  }
  const late = [pod('db-0', 'StatefulSet'), pod('db-1', 'StatefulSet')]
  expect(newest(shop('restricted'), db, revision, shop('privileged'), ...late)).toBe('shop')
  expect(newest(db, pod('db-0', 'StatefulSet'), changed(limits), pod('db-1', 'StatefulSet'))).toBe('db')
})

test('so does a further one of a Job, whose controller makes all at once', () => {
  const work: Sketch = { kind: 'Job', apiVersion: 'batch/v1', name: 'db', meta: { generation: 1 } }
  const [first, second] = [pod('db-a', 'Job'), pod('db-b', 'Job')]
  expect(newest(limits, work, first, changed(limits), second)).toBe('small')
  expect(newest(limits, work, changed(limits), first, second)).toBe('small')
  const active: Sketch = { ...work, status: { active: 1 } }
  expect(newest(limits, work, changed(limits), first, active, second)).toBe('db')
  const failed: Sketch = { ...first, status: { phase: 'Failed' } }
  expect(newest(limits, work, first, changed(limits), failed, second)).toBe('db-a')
})

test('a Pod that could have been made before follows from what came since', () => {
  const more = { ...set(), meta: { generation: 2 }, spec: { replicas: 3 } }
  expect(newest(account, set(), pod('a'))).toBe('web')
  expect(newest(set(), account, more, pod('a'))).toBe('web')
  expect(newest(account, set(), pod('a'), set(undefined, 1), changed(account), pod('b'))).toBe('web')
})

test('a status that takes a refusal back follows from the Pod that was made', () => {
  const made = [set(), set(NO_ACCOUNT), account, pod('a')]
  expect(newest(...made, set())).toBe('a')
  const scaled = { ...set(NO_ACCOUNT, 1), meta: { generation: 2 } }
  const seen = { ...scaled, status: { ...scaled.status, observedGeneration: 2 } }
  const allowed = { ...set(undefined, 1), meta: { generation: 2 } }
  const after = { ...allowed, status: { ...allowed.status, observedGeneration: 2 } }
  expect(newest(...made, set(undefined, 1), scaled, seen, account, pod('b'), after)).toBe('b')
})

test('a Pod that a quota had refused follows from what its controller counted less of, not from what was created', () => {
  const quota = (used: string, manager: string, second: number): Sketch => ({
    ...{
      kind: 'ResourceQuota',
      name: 'few',
      spec: { hard: { pods: '3' } },
      status: { used: { pods: used } },
    },
    meta: { managedFields: [{ manager, subresource: 'status', time: `2026-01-01T00:00:0${second}Z` }] },
  })
  const refused = set('pods "web-" is forbidden: exceeded quota: few, requested: pods=1, used: pods=3')
  const full = [quota('0', 'kube-controller-manager', 1), set(), quota('3', 'kube-apiserver', 2), refused]
  const less = quota('2', 'kube-controller-manager', 3)
  expect(newest(...full, less, pod('a'))).toBe('few')
  expect(newest(...full, less, quota('3', 'kube-apiserver', 4), pod('a'))).toBe('few')
  expect(newest(...full, quota('3', 'kube-apiserver', 4), pod('a'))).toBe('web')
  expect(newest(...full, less, pod('a'), refused, pod('b'))).toBe('web')
})
