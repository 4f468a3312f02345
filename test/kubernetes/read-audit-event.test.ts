import { expect, test } from '@jest/globals'
import type { JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAuditEvents } from '../../src/kube/objects/audit-events.ts'

const EVENT = {
  kind: 'Event',
  apiVersion: 'audit.k8s.io/v1',
  level: 'RequestResponse',
  auditID: 'ee1b4df6-31dc-43d0-a9b5-49e16dcaaa41',
  stage: 'ResponseComplete',
  requestURI: '/apis/apps/v1/namespaces/shop/deployments/web',
  verb: 'update',
  user: { username: 'alice' },
  userAgent: 'kubectl/v1.36.3',
  objectRef: { resource: 'deployments', namespace: 'shop', name: 'web', apiGroup: 'apps', apiVersion: 'v1' },
  responseStatus: { code: 200 },
  requestObject: { metadata: { resourceVersion: '41' } },
  responseObject: {
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    metadata: { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '42' },
  },
  requestReceivedTimestamp: '2026-11-22T03:00:38.160517Z',
  stageTimestamp: '2026-11-22T03:00:38.214417Z',
}

const read = (change: Record<string, unknown>) => {
  const event = JSON.parse(JSON.stringify({ ...EVENT, ...change })) as JsonObject
  const told = readAuditEvents(event)
  return typeof told === 'string' ? told : told[0]
}

test('an accepted write is read with its version, the one it read, its writer and its microseconds', () => {
  expect(read({})).toMatchObject({
    object: { apiVersion: 'apps/v1', resource: 'deployments', namespace: 'shop', name: 'web', uid: 'u1' },
    version: 42n,
    gone: false,
    request: {
      actor: { user: 'alice', userAgent: 'kubectl/v1.36.3' },
      verb: 'update',
      readVersion: 41n,
      startNs: 1795316438160517000n,
      endNs: 1795316438214417000n,
    },
  })
})

test.each([
  ['stage', { stage: 'RequestReceived' }],
  ['read', { verb: 'watch' }],
  ['failed', { responseStatus: { code: 409 } }],
  ['dry_run', { requestURI: '/apis/apps/v1/namespaces/shop/deployments/web?dryRun=All' }],
  ['dry_run', { verb: 'delete', requestObject: { kind: 'DeleteOptions', dryRun: ['All'] } }],
  ['dry_run', { verb: 'deletecollection', requestObject: { kind: 'DeleteOptions', dryRun: ['All'] } }],
  ['dry_run', { verb: 'delete', requestURI: '/?dryRun=All', requestObject: undefined }],
  [
    'dry_run',
    {
      verb: 'create',
      objectRef: {
        resource: 'pods',
        name: 'web',
        namespace: 'shop',
        subresource: 'eviction',
        apiVersion: 'v1',
      },
      requestObject: { kind: 'Eviction', deleteOptions: { dryRun: ['All'] } },
    },
  ],
  ['lease', { objectRef: { resource: 'leases', apiGroup: 'coordination.k8s.io', apiVersion: 'v1' } }],
  ['event', { objectRef: { resource: 'events', apiVersion: 'v1' } }],
  ['no_object', { objectRef: { resource: 'serviceaccounts', subresource: 'token', apiVersion: 'v1' } }],
  [
    'no_object',
    { objectRef: { resource: 'subjectaccessreviews', apiGroup: 'authorization.k8s.io', apiVersion: 'v1' } },
  ],
] as const)('%s: what makes no version of an object is left out', (why, change) => {
  expect(read(change)).toBe(why)
})

test.each([
  ['names a dry run in another parameter', { requestURI: '/?fieldManager=dryRun=All' }],
  // The API server reads the query of a deletion only if it has no body.
  [
    'may have a body that overrules its query',
    { verb: 'delete', level: 'Metadata', requestURI: '/?dryRun=All', requestObject: undefined },
  ],
  ['deletes, with a query that its body overrules', { verb: 'delete', requestURI: '/?dryRun=All' }],
])('a request that %s is a write', (_, change) => {
  expect(read(change)).toMatchObject({ source: 'audit', request: { actor: { user: 'alice' } } })
})

test.each([
  ['alice', undefined, 'alice'],
  ['alice', 'dave', 'alice'],
  ['alice', 'system:serviceaccount:shop:ci', 'alice'],
  ['system:serviceaccount:cattle-system:rancher', 'dave', 'dave'],
  [
    'system:serviceaccount:flux-system:kustomize-controller',
    'system:serviceaccount:team:flux',
    'system:serviceaccount:flux-system:kustomize-controller',
  ],
])('%s as %s is %s', (username, as, who) => {
  const told = read({ user: { username }, ...(as !== undefined && { impersonatedUser: { username: as } }) })
  expect(told).toMatchObject({ request: { actor: { user: who } } })
})

test('the deletion of a collection is one of each object that was there', () => {
  const pod = (name: string, metadata: object, spec: object = {}): object => ({
    metadata: { name, uid: `u ${name}`, resourceVersion: '7', ...metadata },
    spec,
  })
  const items = [
    pod('plain', {}),
    pod('held', { finalizers: ['example.com/x'] }),
    pod('of-a-node', {}, { nodeName: 'one' }),
    { ...pod('ended', {}, { nodeName: 'one' }), status: { phase: 'Succeeded' } },
    pod('going', { deletionTimestamp: '2026-11-22T03:00:38Z' }),
  ]
  const event = {
    ...{ ...EVENT, verb: 'deletecollection', requestObject: { kind: 'DeleteOptions' } },
    objectRef: { resource: 'pods', namespace: 'shop', apiVersion: 'v1' },
    responseObject: { kind: 'PodList', metadata: { resourceVersion: '660' }, items },
  }
  const told = readAuditEvents(JSON.parse(JSON.stringify(event)) as JsonObject)
  if (typeof told === 'string') throw new Error(told)
  expect(
    told.map(({ object: { name, uid }, version, gone, request }) => [name, uid, version, gone, request.verb]),
  ).toEqual([
    ['plain', 'u plain', undefined, true, 'delete'],
    ['held', 'u held', undefined, false, 'delete'],
    ['of-a-node', 'u of-a-node', undefined, false, 'delete'],
    ['ended', 'u ended', undefined, true, 'delete'],
  ])
})

test('a collection of very many objects is one request, whose objects are known by when they were deleted', () => {
  const items = Array.from({ length: 5_001 }, (_, at) => ({ metadata: { name: `p${at}`, uid: `u${at}` } }))
  const told = read({ verb: 'deletecollection', responseObject: { kind: 'PodList', items } })
  expect(told).toMatchObject({ object: { name: 'web', uid: '' }, version: undefined, gone: false })
})

test('a scale tells the version that it made, not the object', () => {
  const answer = {
    kind: 'Scale',
    metadata: { name: 'web', namespace: 'shop', uid: 'u1', resourceVersion: '43' },
  }
  const scaled = read({
    verb: 'patch',
    objectRef: { ...EVENT.objectRef, subresource: 'scale' },
    responseObject: answer,
  })
  expect(scaled).toMatchObject({
    version: 43n,
    facts: undefined,
    object: { uid: 'u1', apiVersion: 'apps/v1' },
  })
})

test('a binding and a deletion that are answered with a Status are known by the uid they name', () => {
  const binding = read({
    verb: 'create',
    objectRef: {
      resource: 'pods',
      namespace: 'shop',
      name: 'web-1',
      apiVersion: 'v1',
      subresource: 'binding',
    },
    requestObject: { metadata: { uid: 'u2' } },
    responseObject: { kind: 'Status', metadata: {} },
  })
  expect(binding).toMatchObject({ version: undefined, gone: false, object: { uid: 'u2', name: 'web-1' } })
  const answer = { kind: 'Status', metadata: {}, details: { uid: 'u1' } }
  expect(read({ verb: 'delete', responseObject: answer })).toMatchObject({
    version: undefined,
    gone: true,
    object: { uid: 'u1' },
  })
})

test('a policy that keeps no bodies still tells who wrote what, and when', () => {
  expect(read({ level: 'Metadata', requestObject: undefined, responseObject: undefined })).toMatchObject({
    version: undefined,
    facts: undefined,
    object: { name: 'web', uid: '' },
    request: { actor: { user: 'alice' } },
  })
})

test.each([
  ['that nothing holds back', true, {}],
  [
    'that is to go later',
    false,
    { deletionTimestamp: '2026-11-22T03:00:38Z', deletionGracePeriodSeconds: 30 },
  ],
  [
    'of a Pod without a node',
    true,
    { deletionTimestamp: '2026-11-22T03:00:38Z', deletionGracePeriodSeconds: 0 },
  ],
  [
    'that waits for a finalizer',
    false,
    {
      ...{ deletionTimestamp: '2026-11-22T03:00:38Z', deletionGracePeriodSeconds: 0 },
      finalizers: ['foregroundDeletion'],
    },
  ],
])(
  'a deletion that is answered with the object tells whether it is gone: one %s',
  (_what, gone, metadata) => {
    const responseObject = {
      ...EVENT.responseObject,
      metadata: { ...EVENT.responseObject.metadata, ...metadata },
    }
    expect(read({ verb: 'delete', responseObject })).toMatchObject({ gone })
  },
)
