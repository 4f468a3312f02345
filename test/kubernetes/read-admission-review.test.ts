import { expect, test } from '@jest/globals'
import { isObject, type JsonObject } from '../../src/kube/objects/object-json.ts'
import { readAdmissionReview, readObjectFacts, uidOfReview } from '../../src/kube/objects/observations.ts'

const TOLD = { seenNs: 5n, traceparent: '00-aa-bb-01' }
const DEPLOYMENTS = { group: 'apps', version: 'v1', resource: 'deployments' }
const PODS = { group: '', version: 'v1', resource: 'pods' }

const deployment = (metadata: JsonObject, replicas = 3): JsonObject => ({
  kind: 'Deployment',
  apiVersion: 'apps/v1',
  metadata: { name: 'web', namespace: 'shop', ...metadata },
  spec: { replicas },
})

function review(request: JsonObject): JsonObject {
  return {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { uid: 'r1', namespace: 'shop', userInfo: { username: 'alice' }, dryRun: false, ...request },
  }
}

test('a change of an object tells who makes it, upon which version, and what becomes of it', () => {
  const object = deployment({ uid: 'u1', resourceVersion: '7' }, 5)
  const read = readAdmissionReview(
    review({
      operation: 'UPDATE',
      resource: DEPLOYMENTS,
      name: 'web',
      object,
      oldObject: deployment({ uid: 'u1', resourceVersion: '7' }),
    }),
    TOLD,
  )
  expect(read).toEqual({
    source: 'admission',
    object: { apiVersion: 'apps/v1', resource: 'deployments', namespace: 'shop', name: 'web', uid: 'u1' },
    version: undefined,
    generateName: '',
    versionBefore: 7n,
    facts: readObjectFacts(object),
    request: {
      actor: { user: 'alice', userAgent: '' },
      verb: 'update',
      subresource: '',
      startNs: 5n,
      endNs: 5n,
      tellsVersion: true,
      traceparent: '00-aa-bb-01',
    },
    seenNs: 5n,
  })
})

test('what is about to be made has neither uid nor version, nor a name where the API server makes one', () => {
  const object = { kind: 'Pod', apiVersion: 'v1', metadata: { generateName: 'web-7c9-', namespace: 'shop' } }
  const read = readAdmissionReview(
    review({ operation: 'CREATE', resource: PODS, object, oldObject: null }),
    TOLD,
  )
  expect(read).toMatchObject({
    object: { resource: 'pods', namespace: 'shop', name: '', uid: '' },
    generateName: 'web-7c9-',
    versionBefore: undefined,
    request: { verb: 'create' },
  })
  const stored = { ...object, metadata: { ...object.metadata, name: 'web-7c9-abcde', uid: 'u2' } }
  expect(typeof read === 'object' && read.facts?.prints).toEqual(readObjectFacts(stored).prints)
})

test.each<[string, JsonObject]>([
  ['binding', { operation: 'CREATE', resource: PODS, subResource: 'binding', name: 'web-1' }],
  ['scale', { operation: 'UPDATE', resource: DEPLOYMENTS, subResource: 'scale', name: 'web' }],
  ['', { operation: 'DELETE', resource: PODS, name: 'web-1' }],
])('the body of %s is not the object that is written', (subresource, request) => {
  const read = readAdmissionReview(review({ ...request, object: { kind: 'Scale' } }), TOLD)
  expect(read).toMatchObject({ facts: undefined, request: { subresource } })
})

test('a namespace stands in none', () => {
  const resource = { group: '', version: 'v1', resource: 'namespaces' }
  const read = readAdmissionReview(review({ operation: 'CREATE', resource, name: 'shop', object: {} }), TOLD)
  expect(read).toMatchObject({ object: { namespace: '', name: 'shop' } })
})

test('a deletion of many names each by what it was', () => {
  const oldObject = { metadata: { name: 'web-1', namespace: 'shop', uid: 'u3', resourceVersion: '9' } }
  const read = readAdmissionReview(
    review({ operation: 'DELETE', resource: PODS, name: '', object: null, oldObject }),
    TOLD,
  )
  expect(read).toMatchObject({ object: { name: 'web-1', uid: 'u3' }, versionBefore: 9n })
})

test.each<[string, JsonObject]>([
  ['dry_run', { operation: 'CREATE', resource: PODS, name: 'a', dryRun: true }],
  ['read', { operation: 'CONNECT', resource: PODS, name: 'a' }],
  ['read', { operation: 'toString', resource: PODS, name: 'a' }],
  ['event', { operation: 'CREATE', resource: { ...PODS, resource: 'events' }, name: 'a' }],
  ['lease', { operation: 'UPDATE', resource: { ...PODS, resource: 'leases' }, name: 'a' }],
  ['no_object', { operation: 'CREATE', resource: PODS }],
  ['no_object', { operation: 'CREATE', name: 'a' }],
])('%s: nothing is told of %j', (why, request) => {
  expect(readAdmissionReview(review(request), TOLD)).toBe(why)
})

test('it is answered by its uid, where it has one', () => {
  expect(uidOfReview(review({}))).toBe('r1')
  for (const broken of [{}, { request: 5 }, { request: { uid: {} } }, { request: null }])
    expect(isObject(broken) && uidOfReview(broken)).toBe('')
})
