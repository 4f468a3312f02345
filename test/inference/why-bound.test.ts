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
