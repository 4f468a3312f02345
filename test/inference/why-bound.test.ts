import { expect, test } from '@jest/globals'
import { decided, type Sketch } from '../../lab/harness/inference/told-by-watch.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'

const pending = (message: string): JsonObject => ({
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
})
const BY_SCHEDULER: JsonObject = {
  managedFields: [{ manager: 'kube-scheduler', operation: 'Update', subresource: 'status' }],
}
const NO_VOLUME = 'pod has unbound immediate PersistentVolumeClaims. preemption: 0/1 nodes are available'
const NO_ROOM = '0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available'
const NO_COMPANY = "0/1 nodes are available: 1 node(s) didn't match pod affinity rules. preemption: 0/1"
const NODE: Sketch = { kind: 'Node', name: 'n1' }
const OTHER: Sketch = { kind: 'Pod', name: 'other', spec: { nodeName: 'n1' } }
const CLAIM: Sketch = { kind: 'PersistentVolumeClaim', name: 'data' }
const VOLUMES = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]

/** What a Pod is bound for that waited, while another left its node and its claim was bound. */
function boundFor(message: string): string[] {
  const pod = { kind: 'Pod', name: 'db-0', spec: { volumes: VOLUMES } }
  const decisions = decided(
    ...[NODE, OTHER, CLAIM, pod, { ...pod, status: pending(message), meta: BY_SCHEDULER }],
    { ...OTHER, gone: true },
    { ...CLAIM, spec: { volumeName: 'v1' } },
    { ...pod, spec: { ...pod.spec, nodeName: 'n1' } },
  )
  return decisions.at(-1)?.reads.map(({ identity }) => identity.name) ?? []
}

test('a Pod that waited for its volume is bound for that, and one that waited for room for what left', () => {
  expect(boundFor(NO_VOLUME)).toEqual(['db-0', 'data'])
  expect(boundFor(NO_ROOM)).toEqual(['db-0', 'other'])
})

test('a Pod that waited for room is bound for a Pod that ended, or that somebody made smaller or labelled', () => {
  const pod = { kind: 'Pod', name: 'db-0' }
  const waiting = { ...pod, status: pending(NO_ROOM), meta: BY_SCHEDULER }
  const boundAfter = (...others: Sketch[]): string[] =>
    decided(NODE, OTHER, pod, waiting, ...others, { ...pod, spec: { nodeName: 'n1' } })
      .at(-1)
      ?.reads.map(({ identity, known }) => `${identity.name}@${known.version}`) ?? []
  const ended: Sketch = { ...OTHER, status: { phase: 'Succeeded' } }
  expect(boundAfter(ended)).toEqual(['db-0@4', 'other@5'])
  expect(boundAfter(ended, { ...ended, status: { phase: 'Succeeded', reason: 'Done' } })).toEqual([
    ...['db-0@4', 'other@5'],
  ])
  const smaller: Sketch = { ...OTHER, spec: { nodeName: 'n1', containers: [{ name: 'c' }] } }
  expect(boundAfter(smaller)).toEqual(['db-0@4', 'other@5'])
  expect(boundAfter({ ...OTHER, meta: { labels: { app: 'quiet' } } })).toEqual(['db-0@4', 'other@5'])
  expect(boundAfter({ ...OTHER, status: { phase: 'Running' } })).toEqual(['db-0@4'])
  expect(boundAfter({ ...OTHER, name: 'late' })).toEqual(['db-0@4'])
})

test('a Pod whose claim was bound while the scheduler waited for that is bound for the claim', () => {
  const readsOf = (volumes: JsonObject[], claimed: string, ...told: Sketch[]): string[] => {
    const pod: Sketch = { kind: 'Pod', name: 'db-0', spec: { volumes } }
    const claim: Sketch = { kind: 'PersistentVolumeClaim', name: claimed }
    const bound = { ...claim, spec: { volumeName: 'v1' } }
    const decisions = decided(NODE, claim, pod, bound, ...told, {
      ...pod,
      spec: { volumes, nodeName: 'n1' },
    })
    return decisions.at(-1)?.reads.map(({ identity }) => identity.name) ?? []
  }
  expect(readsOf(VOLUMES, 'data')).toEqual(['db-0', 'data'])
  expect(readsOf([{ name: 'tmp', ephemeral: { volumeClaimTemplate: {} } }], 'db-0-tmp')).toEqual([
    ...['db-0', 'db-0-tmp'],
  ])
  const early = decided(
    NODE,
    CLAIM,
    { kind: 'Pod', name: 'db-0', spec: { volumes: VOLUMES } },
    {
      ...{ kind: 'Pod', name: 'db-0' },
      spec: { volumes: VOLUMES, nodeName: 'n1' },
    },
  )
  expect(early.at(-1)?.reads.map(({ identity }) => identity.name)).toEqual(['db-0'])
})

test('what a Pod waits for is told by the scheduler, also within the second of what it said before', () => {
  const pod = { kind: 'Pod', name: 'db-0' }
  const told = [NO_VOLUME, NO_ROOM].map((message) => ({
    ...pod,
    status: pending(message),
    meta: BY_SCHEDULER,
  }))
  expect(decided(NODE, pod, ...told).at(-1)?.writer.service).toBe('kube-scheduler')
})

test('a Pod that waited for others is bound for the last that began to run, best on its own node', () => {
  const on = (name: string, nodeName: string): Sketch => ({ kind: 'Pod', name, spec: { nodeName } })
  const bound = (...others: Sketch[]): string[] => {
    const pod: Sketch = { kind: 'Pod', name: 'db-0' }
    const waiting = { ...pod, status: pending(NO_COMPANY), meta: BY_SCHEDULER }
    const decisions = decided(NODE, on('early', 'n1'), pod, waiting, ...others, {
      ...pod,
      spec: { nodeName: 'n1' },
    })
    return decisions.at(-1)?.reads.map(({ identity }) => identity.name) ?? []
  }
  expect(bound(on('one', 'n1'), on('two', 'n1'))).toEqual(['db-0', 'two'])
  expect(bound(on('one', 'n1'), on('two', 'n2'))).toEqual(['db-0', 'one'])
  expect(bound(on('one', ''), on('two', 'n2'))).toEqual(['db-0', 'two'])
  expect(bound(on('one', ''))).toEqual(['db-0'])
  expect(bound({ ...on('early', 'n1'), meta: { labels: { app: 'web' } } })).toEqual(['db-0', 'early'])
})

test('what the scheduler says of a Pod whose claim has been made follows from the claim', () => {
  const pod = { kind: 'Pod', name: 'db-0', spec: { volumes: VOLUMES } }
  const waiting = { ...pod, status: pending(NO_VOLUME), meta: BY_SCHEDULER }
  const told = [waiting, CLAIM, { ...waiting, status: pending(NO_ROOM) }]
  expect(
    decided(NODE, pod, ...told)
      .at(-1)
      ?.reads.map(({ identity }) => identity.name),
  ).toEqual(['db-0', 'data'])
})

test('what the API server says of a FlowSchema follows from the priority level that it names', () => {
  const group = 'flowcontrol.apiserver.k8s.io/v1'
  const spec = { priorityLevelConfiguration: { name: 'level' } }
  const schema: Sketch = {
    kind: 'FlowSchema',
    apiVersion: group,
    name: 'schema',
    spec,
    meta: { namespace: '' },
  }
  const level: Sketch = { ...schema, kind: 'PriorityLevelConfiguration', name: 'level', spec: {} }
  const says = (status: string): Sketch => ({
    ...schema,
    status: { conditions: [{ type: 'Dangling', status }] },
  })
  const readOf = (...told: Sketch[]) =>
    decided(...told)
      .at(-1)
      ?.reads.map(({ identity, known }) => [identity.name, known.gone])
  const made = [schema, says('True'), level, says('False')]
  expect(readOf(...made)).toEqual([
    ['schema', false],
    ['level', false],
  ])
  expect(readOf(...made, { ...level, gone: true }, says('True'))).toEqual([
    ['schema', false],
    ['level', true],
  ])
})

test('a Pod goes for one of any namespace that outranks it and has no node yet', () => {
  const namespaces = ['shop', 'other'].map((name): Sketch => ({ kind: 'Namespace', name }))
  const low: Sketch = { kind: 'Pod', name: 'low', spec: { nodeName: 'n1' } }
  const waits = (name: string, namespace: string, priority?: number): Sketch => ({
    ...{ kind: 'Pod', name, meta: { namespace } },
    spec: { ...(priority !== undefined && { priority }) },
  })
  const pushed: Sketch = {
    ...low,
    status: { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' }] },
  }
  const readOf = (...waiting: Sketch[]): string[] =>
    decided(...namespaces, NODE, low, ...waiting, pushed)
      .at(-1)
      ?.reads.map(({ identity }) => identity.name) ?? []
  expect(readOf(waits('equal', 'shop'), waits('high', 'other', 1_000))).toEqual(['low', 'high'])
  expect(readOf(waits('high', 'other', 1_000), waits('equal', 'shop'))).toEqual(['low', 'high'])
  expect(readOf(waits('early', 'other', 1_000), waits('late', 'shop', 1_000))).toEqual(['low', 'late'])
})
