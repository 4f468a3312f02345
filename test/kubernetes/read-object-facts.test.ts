import { expect, test } from '@jest/globals'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readObjectFacts } from '../../src/kube/objects/observations.ts'

const CPID = '11111111-2222-4333-8444-555555555555'

const object = (kind: string, rest: Record<string, unknown> = {}, metadata: Record<string, unknown> = {}) =>
  JSON.parse(
    JSON.stringify({
      kind,
      apiVersion: 'v1',
      metadata: { name: 'web', namespace: 'shop', ...metadata },
      ...rest,
    }),
  ) as JsonObject

test.each(['Secret', 'ConfigMap'])(
  'nothing of the data of a %s is kept, but that it changed is seen',
  (kind) => {
    const facts = readObjectFacts(
      object(kind, { data: { password: 'hunter2-hunter2' }, stringData: { a: 'b-secret' } }),
    )
    expect(JSON.stringify(facts)).not.toMatch(/hunter2|b-secret|password/)
    expect(readObjectFacts(object(kind, { data: { password: 'else' } })).prints.authored).not.toBe(
      facts.prints.authored,
    )
  },
)

test('environment, commands and annotations of a Pod are not kept', () => {
  const spec = {
    nodeName: 'node-1',
    containers: [{ env: [{ name: 'TOKEN', value: 't0ps3cret' }], command: ['run-it'] }],
  }
  const facts = readObjectFacts(object('Pod', { spec }, { annotations: { note: 'private-note' } }))
  expect(JSON.stringify(facts)).not.toMatch(/t0ps3cret|TOKEN|run-it|private-note/)
  expect(facts.references).toEqual([{ field: 'node', resource: 'nodes', namespace: '', name: 'node-1' }])
})

test("heartbeats, the server's own fields and the order of keys are no change", () => {
  const node = (time: string, resourceVersion: string): JsonObject =>
    object(
      'Node',
      { status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: time }] } },
      { resourceVersion },
    )
  const [one, other] = [readObjectFacts(node('1', '1')), readObjectFacts(node('2', '2'))]
  expect(other.prints).toMatchObject({ authored: one.prints.authored, status: one.prints.status })
  expect(other.prints.heartbeat).not.toBe(one.prints.heartbeat)
  const spec = (keys: Record<string, number>) =>
    readObjectFacts(object('Widget', { spec: keys })).prints.authored
  expect(spec({ a: 1, b: 2 })).toBe(spec({ b: 2, a: 1 }))
  expect(spec({ a: 1, b: 2 })).not.toBe(spec({ a: 2, b: 1 }))
})

test('a ReplicaSet has the template of its Deployment, but for the label that tells ReplicaSets apart', () => {
  const template = (labels: object) => ({
    spec: { template: { metadata: { labels }, spec: { image: 'nginx' } } },
  })
  const deployment = readObjectFacts(object('Deployment', template({ app: 'web' })))
  const replicaSet = readObjectFacts(
    object('ReplicaSet', template({ app: 'web', 'pod-template-hash': '77f' })),
  )
  expect(replicaSet.prints.template).toBe(deployment.prints.template)
  const other = readObjectFacts(object('ReplicaSet', template({ app: 'other', 'pod-template-hash': '77f' })))
  expect(other.prints.template).not.toBe(deployment.prints.template)
})

test('a slice says of a Pod what the Pod shows, terminating or not', () => {
  const pod = (metadata: object, ready: string) =>
    readObjectFacts(
      object(
        'Pod',
        { status: { podIP: '10.0.0.1', phase: 'Running', conditions: [{ type: 'Ready', status: ready }] } },
        { ...metadata },
      ),
    )
  const slice = (conditions: object) =>
    readObjectFacts(
      object('EndpointSlice', {
        endpoints: [
          { addresses: ['10.0.0.1'], conditions, targetRef: { kind: 'Pod', name: 'web-1', uid: 'u1' } },
        ],
      }),
    ).references.map(({ says }) => says)
  expect(slice({ ready: true, serving: true, terminating: false })).toEqual([pod({}, 'True').prints.slice])
  // A Service that publishes what is not ready too.
  expect(slice({ ready: true, serving: false, terminating: false })).toEqual([pod({}, 'False').prints.slice])
  expect(slice({ ready: true })).toEqual([pod({}, 'True').prints.slice])
  const going = pod({ deletionTimestamp: '2026-11-22T03:01:57Z' }, 'True')
  expect(slice({ ready: false, serving: true, terminating: true })).toEqual([going.prints.slice])
  expect(going.prints.endpoints).toBe('')
  expect(pod({}, 'False').prints.slice).not.toBe(pod({}, 'True').prints.slice)
})

test('what traces changes is read, and only where it is sound', () => {
  const facts = readObjectFacts(
    object(
      'Service',
      {},
      {
        annotations: { 'causeway.io/cpid': CPID, 'tracing.k8s.io/traceparent': '00-a-b-01' },
        ownerReferences: [{ kind: 'App', name: 'shop', uid: 'u9', controller: true }],
      },
    ),
  )
  expect(facts).toMatchObject({
    cpid: CPID,
    traceparent: '00-a-b-01',
    owners: [{ kind: 'App', uid: 'u9', controller: true }],
  })
  const forged = readObjectFacts(object('Service', {}, { annotations: { 'causeway.io/cpid': 'rm -rf' } }))
  expect(forged.cpid).toBeUndefined()
})

test('an object of another shape than it should have is read as far as it goes', () => {
  const odd = object(
    'Pod',
    { spec: 'text', status: [1], endpoints: {} },
    { ownerReferences: [null, 3], annotations: 'x', labels: [] },
  )
  expect(readObjectFacts(odd)).toMatchObject({ generation: 0, references: [] })
})

test('names in places that configuration tells of are kept for their resource alone', () => {
  const custom = [{ resource: 'widgets', field: 'shop', path: ['spec', 'shop'], of: 'shops' }]
  const widget = object('Widget', { spec: { shop: 'corner' } })
  const named = { field: 'shop', resource: 'shops', namespace: '', name: 'corner' }
  expect(readObjectFacts(widget, 'widgets', { references: custom, fieldValues: 'plain' }).references).toEqual(
    [named],
  )
  expect(readObjectFacts(widget, 'gadgets', { references: custom, fieldValues: 'plain' }).references).toEqual(
    [],
  )
})

test('fingerprints stay what they are, whatever keys an object has: those in databases are compared with new ones', () => {
  const odd = JSON.parse(
    `{"kind":"Widget","apiVersion":"v1",
      "metadata":{"name":"web","labels":{"b":"1","10":"2","9":"3","01":"4","\\ud83d\\ude00":"5","\\ue000":"6"}},
      "spec":{"list":[{"z":1,"a":[]},"x",null,1.5],"__proto__":{"y":1,"x":{}}},
      "status":{"conditions":[{"type":"Ready","lastProbeTime":"1"}]}}`,
  ) as JsonObject
  expect(readObjectFacts(odd).prints).toEqual({
    authored: 'N-vomv5Qm6dkT8',
    status: 'beUi4ng06bGKjH',
    heartbeat: 'XxtIWOA3O6-sXG',
  })
})
