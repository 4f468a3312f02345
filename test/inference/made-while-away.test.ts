import { expect, test } from '@jest/globals'
import { replay } from '../../lab/harness/inference/replay.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readWatchEvent } from '../../src/kube/objects/observations.ts'
import type { Observation } from '../../src/model/kubernetes-observations.ts'

const START = Date.UTC(2026, 0, 1)

function told(type: string, object: JsonObject, at: number): Observation {
  const read = readWatchEvent({ type, object }, BigInt(START + at) * 1_000_000n)
  if (typeof read === 'string') throw new Error(read)
  return read
}

function replicaSet(at: number): Observation {
  const metadata = { name: 'web-1', namespace: 'shop', uid: 'u1', resourceVersion: String(at) }
  return told('ADDED', { kind: 'ReplicaSet', apiVersion: 'apps/v1', metadata, spec: { replicas: 1 } }, at)
}

/** A Pod as a list has it that was made when its kubelet had written its status. */
function listedPod(at: number): Observation {
  const time = (second: number): string => `2026-01-01T00:00:0${second}Z`
  const metadata = {
    ...{ name: 'web-1-a', namespace: 'shop', uid: 'u2', resourceVersion: String(at) },
    ownerReferences: [
      { kind: 'ReplicaSet', apiVersion: 'apps/v1', name: 'web-1', uid: 'u1', controller: true },
    ],
    managedFields: [
      { manager: 'a-webhook', operation: 'Update', time: time(3) },
      { manager: 'kube-controller-manager', operation: 'Update', time: time(2) },
      { manager: 'kubelet', operation: 'Update', subresource: 'status', time: time(4) },
    ],
  }
  const object = { kind: 'Pod', apiVersion: 'v1', metadata, spec: { nodeName: 'node-1' } }
  return listed(object, at)
}

test('what was made while nobody looked follows from what its maker read, whoever wrote it since', () => {
  const { decisions } = replay([replicaSet(1), listedPod(5)], ['watch'])
  const [made, pod] = decisions
  expect(pod).toMatchObject({ writer: { service: 'replicaset-controller' }, cpid: made?.cpid, gap: true })
})

/** A Deployment as a watch shows it first, and as a list has it when its controller had written its status again. */
function deployment(at: number, image: string, managers: object[]): JsonObject {
  const metadata = {
    ...{ name: 'web', namespace: 'shop', uid: 'u3', resourceVersion: String(at) },
    ...{ generation: at, managedFields: managers as JsonObject[] },
  }
  const template = { spec: { containers: [{ image }] } }
  return { kind: 'Deployment', apiVersion: 'apps/v1', metadata, spec: { replicas: 1, template } }
}

function managed(manager: string, second: number, subresource = ''): object {
  return { manager, operation: 'Update', subresource, time: `2026-01-01T00:00:0${second}Z` }
}

const listed = (object: JsonObject, at: number): Observation =>
  ({ ...told('ADDED', object, at), by: 'later list' }) as Observation

const CREATED = managed('kubectl-create', 1)
const CONTROLLER = 'kube-controller-manager'
const MADE = deployment(2, 'nginx:1', [CREATED, managed(CONTROLLER, 2, 'status')])
const CHANGED = deployment(5, 'nginx:2', [
  CREATED,
  managed('kubectl-set', 3),
  managed(CONTROLLER, 4, 'status'),
])

test('what somebody wrote while nobody looked is theirs, whatever status was written since', () => {
  const { decisions } = replay([told('ADDED', MADE, 1), listed(CHANGED, 5)], ['watch'])
  expect(decisions.at(-1)).toMatchObject({ cause: 'operator', writer: { service: 'kubectl' }, gap: true })
})

test('what was made for a change that nobody saw follows from it, though a list shows the change as it was later', () => {
  const metadata = {
    ...{ name: 'web-2', namespace: 'shop', uid: 'u4', resourceVersion: '4' },
    ownerReferences: [
      { kind: 'Deployment', apiVersion: 'apps/v1', name: 'web', uid: 'u3', controller: true },
    ],
  }
  // As many are wanted as before: that alone would fit what was there.
  const made = { kind: 'ReplicaSet', apiVersion: 'apps/v1', metadata, spec: CHANGED.spec } as JsonObject
  const { decisions } = replay([told('ADDED', MADE, 1), listed(made, 4), listed(CHANGED, 5)], ['watch'])
  expect(decisions.map(({ version }) => version)).toEqual([2n, 5n, 4n])
  const [first, changed, replicaSetOfIt] = decisions
  expect(changed?.cpid).not.toBe(first?.cpid)
  expect(replicaSetOfIt).toMatchObject({
    ...{ cpid: changed?.cpid, cause: 'inferred', gap: true },
    reads: [{ known: { version: 5n }, exact: false }],
  })
})

function ownerWanting(at: number, replicas: number): JsonObject {
  const metadata = {
    name: 'web-1',
    namespace: 'shop',
    uid: 'u1',
    resourceVersion: String(at),
    generation: at,
  }
  return { kind: 'ReplicaSet', apiVersion: 'apps/v1', metadata, spec: { replicas } }
}

function ownedPod(at: number, more: JsonObject = {}): JsonObject {
  const owner = { kind: 'ReplicaSet', apiVersion: 'apps/v1', name: 'web-1', uid: 'u1', controller: true }
  const metadata = {
    ...{ name: 'web-1-a', namespace: 'shop', uid: 'u2', resourceVersion: String(at) },
    ...{ ownerReferences: [owner], ...more },
  }
  return { kind: 'Pod', apiVersion: 'v1', metadata, spec: {} }
}

test('what is owned follows from its owner as it was made a moment before, not as a list shows it later', () => {
  const { decisions } = replay(
    [told('ADDED', ownerWanting(1, 1), 1), told('ADDED', ownedPod(2), 2), listed(ownerWanting(6, 0), 6)],
    ['watch'],
  )
  expect(decisions.map(({ version }) => version)).toEqual([1n, 2n, 6n])
  expect(decisions[1]?.reads.map(({ known }) => known.version)).toEqual([1n])
})

test('what goes since its owner wants fewer follows from that, though a list shows the owner as it was later', () => {
  const going = { deletionTimestamp: '2026-01-01T00:00:05Z' }
  const { decisions } = replay(
    [
      told('ADDED', ownerWanting(1, 1), 1),
      told('ADDED', ownedPod(2), 2),
      told('MODIFIED', ownedPod(4, going), 4),
      listed(ownerWanting(6, 0), 6),
    ],
    ['watch'],
  )
  expect(decisions.map(({ version }) => version)).toEqual([1n, 2n, 6n, 4n])
  const [, , scaled, deleted] = decisions
  expect(deleted).toMatchObject({ writer: { service: 'replicaset-controller' }, cause: 'inferred' })
  expect(deleted?.reads.map(({ known }) => known.version)).toEqual([2n, 6n])
  expect(deleted?.cpid).toBe(scaled?.cpid)
})

test('what was made for a change that nobody saw, and goes already, comes after that change too', () => {
  const metadata = {
    ...{ name: 'web-2', namespace: 'shop', uid: 'u4', resourceVersion: '4' },
    deletionTimestamp: '2026-01-01T00:00:05Z',
    ownerReferences: [
      { kind: 'Deployment', apiVersion: 'apps/v1', name: 'web', uid: 'u3', controller: true },
    ],
  }
  const made = { kind: 'ReplicaSet', apiVersion: 'apps/v1', metadata, spec: CHANGED.spec } as JsonObject
  const { decisions } = replay([told('ADDED', MADE, 1), listed(made, 4), listed(CHANGED, 5)], ['watch'])
  expect(decisions.map(({ version }) => version)).toEqual([2n, 5n, 4n])
})

test('a ReplicaSet that was scaled down while nobody looked follows from the change that wanted another one', () => {
  const metadata = (at: number, generation: number): JsonObject => ({
    ...{ name: 'web-1', namespace: 'shop', uid: 'u1', resourceVersion: String(at), generation },
    ownerReferences: [
      { kind: 'Deployment', apiVersion: 'apps/v1', name: 'web', uid: 'u3', controller: true },
    ],
  })
  const old = (at: number, generation: number, replicas: number): JsonObject => ({
    ...{ kind: 'ReplicaSet', apiVersion: 'apps/v1', metadata: metadata(at, generation) },
    spec: { replicas, template: (MADE['spec'] as JsonObject)['template'] ?? {} },
  })
  const changed = deployment(9, 'nginx:2', [
    CREATED,
    managed('kubectl-set', 3),
    managed(CONTROLLER, 4, 'status'),
  ])
  const { decisions } = replay(
    [told('ADDED', MADE, 1), told('ADDED', old(3, 1, 1), 3), listed(old(7, 2, 0), 7), listed(changed, 9)],
    ['watch'],
  )
  expect(decisions.map(({ version }) => version)).toEqual([2n, 3n, 9n, 7n])
  const [made, , change, scaled] = decisions
  expect(change).toMatchObject({ cause: 'operator' })
  expect(scaled).toMatchObject({ writer: { service: 'deployment-controller' }, cause: 'inferred' })
  expect(scaled?.sources).toEqual([made?.cpid, change?.cpid].sort())
})
