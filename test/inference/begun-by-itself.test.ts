import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { Decision } from '../../src/kube/inference/decide.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const START = Date.UTC(2026, 0, 1)
const KCM = 'kube-controller-manager'

const signed = (manager: string, second: number, subresource = ''): JsonObject => ({
  ...{ manager, operation: 'Update', subresource },
  time: new Date(START + second * 1000).toISOString(),
})

interface Shown {
  readonly type?: string
  readonly kind: string
  readonly apiVersion: string
  readonly name: string
  readonly uid: string
  readonly managers: readonly JsonObject[]
  readonly metadata?: JsonObject
  readonly spec?: JsonObject
  readonly status?: JsonObject
  readonly rest?: JsonObject
}

/** What a watch alone shows: the n-th version, n times ten seconds after the start. */
function watched(all: readonly Shown[]): readonly Decision[] {
  const told = all.map(
    ({ type, kind, apiVersion, name, uid, managers, metadata, spec, status, rest }, at): Observation => {
      const object = {
        ...{ kind, apiVersion, spec: spec ?? {}, status: status ?? {}, ...rest },
        metadata: {
          ...{ name, uid, namespace: 'shop', generation: 1, resourceVersion: String(at + 1) },
          ...{ managedFields: [...managers], ...metadata },
        },
      }
      const seenNs = BigInt(START + at * 10_000) * 1_000_000n
      const read = readWatchEvent({ type: type ?? (at === 0 ? 'ADDED' : 'MODIFIED'), object }, seenNs)
      if (typeof read === 'string') throw new Error(read)
      return read
    },
  )
  return replay(told, ['watch']).decisions
}

const CRON: Shown = {
  ...{ kind: 'CronJob', apiVersion: 'batch/v1', name: 'nightly', uid: 'c' },
  ...{
    managers: [signed('kubectl-create', 0)],
    spec: { schedule: '* * * * *', successfulJobsHistoryLimit: 1 },
  },
}
const job = (name: string, second: number, more: Partial<Shown> = {}): Shown => ({
  ...{ kind: 'Job', apiVersion: 'batch/v1', name, uid: name, managers: [signed(KCM, second)] },
  metadata: { ownerReferences: [{ kind: 'CronJob', name: 'nightly', uid: 'c', controller: true }] },
  ...more,
})
const DONE = { status: { conditions: [{ type: 'Complete', status: 'True' }] } }

test('a Job of a schedule begins a change of its own, and the oldest goes for want of room', () => {
  const decisions = watched([
    CRON,
    job('one', 10, { type: 'ADDED', ...DONE }),
    job('two', 20, { type: 'ADDED', ...DONE }),
    job('one', 10, { type: 'DELETED', ...DONE }),
  ])
  expect(decisions.map(({ cause, self }) => self?.reason ?? cause)).toEqual([
    'operator',
    'schedule',
    'schedule',
    'expiry',
  ])
  expect(decisions[1]?.self?.setUp).toMatchObject({ identity: { name: 'nightly' }, version: 1n })
  expect(decisions[1]?.sources).toEqual([])
})

test('a finished Job goes because somebody wants fewer kept, until another has finished', () => {
  const none = {
    ...CRON,
    managers: [signed('kubectl-edit', 20)],
    spec: { ...CRON.spec, successfulJobsHistoryLimit: 0 },
  }
  const decisions = watched([
    CRON,
    job('one', 10, { type: 'ADDED', ...DONE }),
    none,
    job('one', 10, { type: 'DELETED', ...DONE }),
    job('two', 40, { type: 'ADDED' }),
    job('two', 40, DONE),
    job('two', 40, { type: 'DELETED', ...DONE }),
  ])
  expect(decisions.map(({ cause, self }) => self?.reason ?? cause)).toEqual([
    ...['operator', 'schedule', 'operator', 'inferred'],
    ...['schedule', 'inferred', 'expiry'],
  ])
})

test('a Job of a schedule that another program makes, somebody makes by hand', () => {
  const decisions = watched([CRON, job('one', 10, { type: 'ADDED', managers: [signed('deploybot', 10)] })])
  expect(decisions.at(-1)).toMatchObject({ cause: 'operator', writer: { service: 'deploybot' } })
})

test('what a client without a User-Agent makes, which the API server signs as unknown, somebody makes', () => {
  const managers = [signed('unknown', 0)]
  const decisions = watched([{ kind: 'ConfigMap', apiVersion: 'v1', name: 'web', uid: 'web', managers }])
  expect(decisions.at(-1)).toMatchObject({ cause: 'operator', writer: { service: 'unnamed' } })
})

test('what owned an object and is gone, the garbage collector takes from it', () => {
  const map = (name: string, owners: readonly string[], type?: string): Shown => ({
    ...{ kind: 'ConfigMap', apiVersion: 'v1', name, uid: name, managers: [signed('kubectl-create', 0)] },
    metadata: { ownerReferences: owners.map((uid) => ({ kind: 'ConfigMap', name: uid, uid })) },
    ...(type !== undefined && { type }),
  })
  const decisions = watched([
    ...['a', 'b'].map((name) => map(name, [], 'ADDED')),
    map('shared', ['a', 'b'], 'ADDED'),
    map('a', [], 'DELETED'),
    map('shared', ['b']),
  ])
  expect(decisions.at(-1)).toMatchObject({
    cause: 'inferred',
    writer: { service: 'generic-garbage-collector' },
  })
  expect(decisions.at(-1)?.reads.map(({ identity }) => identity.name)).toContain('a')
})

test('an autoscaler scales back what somebody has scaled, and later by what it measures', () => {
  const scaled = (replicas: number, by: string, second: number): Shown => ({
    ...{ kind: 'Deployment', apiVersion: 'apps/v1', name: 'web', uid: 'd', spec: { replicas } },
    managers: [signed('kubectl-create', 0), signed(by, second, 'scale')],
    metadata: { generation: second },
  })
  const decisions = watched([
    scaled(1, 'kubectl-create', 0),
    {
      ...{
        type: 'ADDED',
        kind: 'HorizontalPodAutoscaler',
        apiVersion: 'autoscaling/v2',
        name: 'web',
        uid: 'h',
      },
      ...{ managers: [signed('kubectl-create', 10)] },
      spec: { scaleTargetRef: { kind: 'Deployment', name: 'web' }, minReplicas: 3 },
    },
    scaled(3, KCM, 20),
    scaled(2, 'kubectl-scale', 30),
    scaled(3, KCM, 40),
    scaled(4, KCM, 50),
  ])
  expect(decisions.map(({ cause, self }) => self?.reason ?? cause)).toEqual([
    ...['operator', 'operator', 'inferred'],
    ...['operator', 'inferred', 'metric'],
  ])
  expect(decisions[4]?.reads.map(({ known }) => known.cpid)).toContain(decisions[3]?.cpid)
})

test.each([
  ['kubernetes.io/tls', 'renewal'],
  ['Opaque', 'unknown'],
])(
  'a Secret of type %s that a controller makes though nothing asks for it begins a change: %s',
  (type, reason) => {
    const secret: Shown = {
      ...{ type: 'ADDED', kind: 'Secret', apiVersion: 'v1', name: 'key', uid: 'k' },
      ...{ managers: [signed(KCM, 1)], rest: { type } },
    }
    expect(watched([secret])[0]).toMatchObject({ cause: 'self', self: { reason } })
  },
)

test('Jobs of a schedule that somebody deletes go with it', () => {
  const decisions = watched([
    CRON,
    job('one', 10, { type: 'ADDED', ...DONE }),
    { ...CRON, type: 'DELETED' },
    job('one', 10, { type: 'DELETED', ...DONE }),
  ])
  expect(decisions.at(-1)).toMatchObject({
    cause: 'inferred',
    writer: { service: 'generic-garbage-collector' },
  })
})

const web = (second: number, more: Partial<Shown>): Shown => ({
  ...{ kind: 'Deployment', apiVersion: 'apps/v1', name: 'web', uid: 'd' },
  managers: [signed('kubectl-create', 0), signed(KCM, second, 'status')],
  ...more,
})

test.each([
  ['a field of the spec', { spec: { replicas: 1, paused: true } }, { spec: { replicas: 1 } }],
  ['a label', { metadata: { labels: { a: 'b' } } }, { metadata: { labels: {} } }],
])('whoever takes %s away leaves no entry, and is a person', (_, before, after) => {
  const [, taken] = watched([web(0, before), web(0, after)])
  expect(taken).toMatchObject({ cause: 'operator', writer: { service: 'unknown', role: 'operator' } })
})

test('what holds an object is taken away by controllers', () => {
  const [, taken] = watched([web(0, { metadata: { finalizers: ['a/b'] } }), web(0, {})])
  expect(taken?.cause).not.toBe('operator')
})

const node = (taints: readonly string[], more: Partial<Shown> = {}): Shown => ({
  ...{ kind: 'Node', apiVersion: 'v1', name: 'n', uid: 'n', managers: [signed('kubelet', 0)] },
  spec: { taints: taints.map((key) => ({ key, effect: 'NoSchedule' })) },
  ...more,
})

test('taints of Kubernetes itself are its controller, others a person', () => {
  const own = watched([node(['node.kubernetes.io/unschedulable']), node([])])
  expect(own.at(-1)).toMatchObject({ cause: 'inferred', writer: { service: 'node-controller' } })
  const others = watched([node(['team/only']), node([])])
  expect(others.at(-1)).toMatchObject({ cause: 'operator' })
})
