import { expect, test } from '@jest/globals'
import { decided, ownedBy, type Sketch } from '../../lab/harness/inference/told-by-watch.ts'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'

/** The newest version that the last of these follows from, as `name@version`. */
function newest(...sketches: Sketch[]): string {
  const reads = decided(...sketches).at(-1)?.reads ?? []
  const inOrder = reads
    .filter(({ isPassive }) => isPassive !== true)
    .map(({ identity, known, actedOn }) => ({ name: identity.name, at: actedOn ?? known.version }))
    .sort((one, other) => (one.at > other.at ? -1 : 1))
  return `${inOrder[0]?.name}@${inOrder[0]?.at}`
}

const template = (image: string): JsonObject => ({ spec: { containers: [{ name: 'c', image }] } })
const WEB = 'web'

const deployment = (image: string, generation: number, observed = generation): Sketch => ({
  ...{ kind: 'Deployment', apiVersion: 'apps/v1', name: WEB, meta: { generation } },
  ...{ spec: { replicas: 2, template: template(image) }, status: { observedGeneration: observed } },
})
const set = (
  name: string,
  image: string,
  replicas: number,
  ready: number,
  more: JsonObject = {},
): Sketch => ({
  ...{ kind: 'ReplicaSet', apiVersion: 'apps/v1', name },
  meta: { generation: replicas + 1, labels: { app: WEB }, ...ownedBy('Deployment', WEB), ...more },
  ...{ spec: { replicas, template: template(image) }, status: { replicas: ready, readyReplicas: ready } },
})
const pod = (node: string, ready = 'False'): Sketch => ({
  ...{ kind: 'Pod', name: 'new-1', meta: ownedBy('ReplicaSet', 'new') },
  ...{ spec: { nodeName: node }, status: { conditions: [{ type: 'Ready', status: ready }] } },
})
const waiting: Sketch = {
  ...pod(''),
  status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no' }] },
}
const NODE: Sketch = { kind: 'Node', name: 'n1' }
const OPEN: Sketch = { ...NODE, meta: { labels: { pool: 'a' } } }

test('a rollout that waited goes on for what let its Pods run, and any other for what its Deployment wants', () => {
  const begun = [
    NODE,
    deployment('i:1', 1),
    set('old', 'i:1', 2, 2),
    deployment('i:2', 2),
    set('new', 'i:2', 1, 0),
  ]
  const ready = [pod('n1', 'True'), set('new', 'i:2', 1, 1), set('old', 'i:1', 1, 2)]
  expect(newest(...begun, waiting, OPEN, pod('n1'), ...ready)).toBe('new@10')
  expect(newest(...begun, pod(''), pod('n1'), ...ready)).toBe('web@4')
})

test('a ReplicaSet is made anew in the place of one that somebody labelled out of its Deployment', () => {
  const lost = (more: JsonObject): Sketch => set('old', 'i:1', 2, 2, { labels: { app: 'x' }, ...more })
  const told = [deployment('i:1', 1), set('old', 'i:1', 2, 2), lost({}), lost({ ownerReferences: [] })]
  expect(newest(...told, set('new', 'i:1', 2, 0))).toBe('old@4')
})

test('a ReplicaSet that a Deployment gets back is scaled because of that', () => {
  const managedFields = [{ manager: 'kubectl-label', operation: 'Update', time: '2026-11-22T19:30:00Z' }]
  const free = (app: string, more: JsonObject = {}): Sketch =>
    set('old', 'i:1', 2, 2, { labels: { app }, ownerReferences: [], ...more })
  const adopted = (replicas: number): Sketch => set('old', 'i:1', replicas, 2, { managedFields })
  const told = [deployment('i:2', 1), set('new', 'i:2', 2, 2), free('x'), free(WEB, { managedFields })]
  expect(newest(...told, adopted(2))).toBe('old@4')
  expect(newest(...told, adopted(2), adopted(0))).toBe('old@5')
})

test('what the scheduler says of a Pod that waits follows from nodes that it may be for, and that changed', () => {
  const says = (message: string): Sketch => ({
    ...{ ...waiting, meta: { managedFields: [{ manager: 'kube-scheduler', subresource: 'status' }] } },
    status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }] },
  })
  const told = [NODE, pod(''), says('1 node(s) were unschedulable')]
  expect(newest(...told, OPEN, says('1 Insufficient cpu'))).toBe('n1@4')
  expect(newest(...told, says('1 Insufficient cpu'))).toBe('new-1@3')
  // It counts all nodes in each message.
  const choosy = (one: Sketch): Sketch => ({ ...one, spec: { nodeSelector: { pool: 'b' } } })
  const early = [NODE, ...[pod(''), says('1 node(s) were unschedulable')].map(choosy)]
  expect(newest(...early, OPEN, choosy(says('2 node(s) were unschedulable')))).toBe('new-1@3')
})

test('what is outside of the bounds of its autoscaler is set to those by it, whether or not it signs that', () => {
  const managedFields = [{ manager: 'kubectl', operation: 'Update', time: '1970-01-01T00:00:01Z' }]
  const scaled = (replicas: number, generation: number): Sketch => ({
    ...deployment('i:1', generation),
    ...{ seenNs: 60_000_000_000n, spec: { replicas, template: template('i:1') } },
    meta: { generation, managedFields },
  })
  const autoscaler: Sketch = {
    ...{ kind: 'HorizontalPodAutoscaler', apiVersion: 'autoscaling/v2', name: 'scaler', seenNs: 2n },
    spec: { minReplicas: 3, maxReplicas: 5, scaleTargetRef: { kind: 'Deployment', name: WEB } },
  }
  const to = (from: number, replicas: number): string | undefined =>
    decided(autoscaler, { ...scaled(from, 1), seenNs: 3n }, scaled(replicas, 2)).at(-1)?.writer.service
  expect(to(1, 3)).toBe('horizontal-pod-autoscaler')
  expect(to(8, 5)).toBe('horizontal-pod-autoscaler')
  expect([to(0, 3), to(1, 2), to(3, 5)]).toEqual(['unknown', 'unknown', 'unknown'])
})
