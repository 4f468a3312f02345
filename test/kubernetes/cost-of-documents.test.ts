import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { readWatchLine } from '../../src/kube/cluster/resource-stream.ts'
import { isObject, type JsonObject, parseBounded } from '../../src/kube/objects/object-json.ts'
import { readAdmissionReview, readObjectFacts } from '../../src/kube/objects/observations.ts'
import { AuditEvents } from '../../src/receiver/k8s-audit/audit-log.ts'
import { hostileJson } from '../support/hostile/hostile-json.ts'
import { WorkCounter } from '../support/work-counter.ts'

const SIZE = 500_000
const DRAWN = 12
/** How many functions and blocks of ours a byte of a document may make run, beside what JSON.parse does. */
const BLOCKS_A_BYTE = 16

const OBJECT: JsonObject = {
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: {
    name: 'web',
    namespace: 'shop',
    uid: 'u1',
    resourceVersion: '7',
    annotations: { 'causeway.io/cpid': '00000000-0000-4000-8000-000000000001' },
    labels: { app: 'web' },
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u2', controller: true },
    ],
    managedFields: [
      { manager: 'kubectl', operation: 'Update', fieldsV1: { 'f:spec': { 'f:replicas': {} } } },
    ],
    finalizers: ['x'],
  },
  spec: { replicas: 1, selector: { matchLabels: { app: 'web' } } },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
}
const EVENT: JsonObject = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Event',
  stage: 'ResponseComplete',
  auditID: 'a1',
  verb: 'update',
  requestURI: '/apis/example.com/v1/namespaces/shop/widgets/web',
  user: { username: 'alice' },
  objectRef: {
    resource: 'widgets',
    namespace: 'shop',
    name: 'web',
    apiGroup: 'example.com',
    apiVersion: 'v1',
  },
  responseStatus: { code: 200 },
  responseObject: OBJECT,
}

const KINDS: Record<string, { document: JsonObject; read: (text: Buffer) => unknown }> = {
  'a watch event': {
    document: { type: 'MODIFIED', object: OBJECT },
    read: (text) => {
      const line = readWatchLine(text)
      return line.kind === 'change' ? readObjectFacts(line.object, 'widgets', []) : line
    },
  },
  'a list of audit events': {
    document: { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', items: [EVENT] },
    read: (text) => {
      const list = parseBounded(text)
      const events = new AuditEvents([])
      if (isObject(list) && Array.isArray(list['items'])) for (const event of list['items']) events.add(event)
      return events
    },
  },
  'an admission review': {
    document: {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid: 'r1',
        operation: 'UPDATE',
        name: 'web',
        namespace: 'shop',
        resource: { group: 'example.com', version: 'v1', resource: 'widgets' },
        userInfo: { username: 'alice' },
        object: OBJECT,
        oldObject: OBJECT,
      },
    },
    read: (text) => {
      const review = parseBounded(text)
      return isObject(review) ? readAdmissionReview(review, { seenNs: 0n, traceparent: '' }) : undefined
    },
  },
}

test.each(Object.entries(KINDS))(
  'whatever %s has too much of, it is read or refused, at a cost that its size bounds',
  (name, { document, read }) => {
    using counter = new WorkCounter()
    fc.assert(
      fc.property(fc.constantFrom(...hostileJson(name, document)), (hostile) => {
        const text = Buffer.from(hostile.text(SIZE))
        const blocks = counter.blocksOf(() => {
          try {
            read(text)
          } catch (error) {
            // What every reader counts as unreadable: no JSON, too many values, or nested too deep.
            if (!(error instanceof SyntaxError) && !(error instanceof RangeError)) throw error
          }
        })
        expect(blocks).toBeLessThan(SIZE * BLOCKS_A_BYTE)
      }),
      { numRuns: DRAWN },
    )
  },
)

test('a text with more values than its length allows is refused with their number, and one with as many as real objects have is not', () => {
  const empty = Buffer.from(`[${'{},'.repeat(400_000)}{}]`)
  expect(() => parseBounded(empty)).toThrow(/bytes hold 800002 values/)
  const managed = Array.from({ length: 200_000 }, (_, at) => `"f:field${at}":{}`)
  expect(Object.keys(parseBounded(Buffer.from(`{${managed.join(',')}}`)) as object)).toHaveLength(200_000)
  const text = Buffer.from(JSON.stringify({ data: ',{['.repeat(200_000) }))
  expect(parseBounded(text)).toEqual({ data: ',{['.repeat(200_000) })
})
