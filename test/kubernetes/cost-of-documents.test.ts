import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { readWatchLine } from '../../src/kube/cluster/resource-stream.ts'
import { isObject, type JsonObject, parseBounded } from '../../src/kube/objects/object-json.ts'
import { readAdmissionReview, readObjectFacts } from '../../src/kube/objects/observations.ts'
import { USUAL_READING } from '../../src/model/kubernetes-objects.ts'
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
      return line.kind === 'change' ? readObjectFacts(line.object, 'widgets', USUAL_READING) : line
    },
  },
  'a list of audit events': {
    document: { kind: 'EventList', apiVersion: 'audit.k8s.io/v1', items: [EVENT] },
    read: (text) => {
      const list = parseBounded(text)
      const events = new AuditEvents(USUAL_READING)
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

const LARGE = 8 * 2 ** 20
/** What a value, and a name or a short text that no other is like, takes in memory and in time, in bytes; one of these is a list or an object. */
const [VALUE_BYTES, LIST_BYTES, DIFFERENT_BYTES] = [32, 128, 256]
/** What any document may take whatever its size, and in times of its size. */
const [FREE_BYTES, TIMES_SIZE] = [100 * 2 ** 20, 4]

/** What JSON.parse would have to make of a text that was taken. */
function madeOf(text: string): number {
  let [lists, values] = [0, 0]
  const different = new Set<string>()
  for (const [, short, name, mark] of text.matchAll(/"([^"\\]{0,10})"(?!:)|"([^"]*)":|"[^"]*"|([,[{])/g)) {
    if (mark === ',') values++
    else if (mark !== undefined) lists++
    else if (short !== undefined || name !== undefined) different.add(short ?? name ?? '')
  }
  return lists * LIST_BYTES + values * VALUE_BYTES + different.size * DIFFERENT_BYTES
}

test.each(Object.entries(KINDS))(
  'what %s that is taken is made into takes as much memory as its size allows',
  (name, { document }) => {
    fc.assert(
      fc.property(fc.constantFrom(...hostileJson(name, document)), (hostile) => {
        const text = hostile.text(LARGE)
        try {
          parseBounded(Buffer.from(text))
        } catch (error) {
          if (!(error instanceof SyntaxError) && !(error instanceof RangeError)) throw error
          return
        }
        expect(madeOf(text)).toBeLessThan(LARGE * TIMES_SIZE + FREE_BYTES)
      }),
      { numRuns: 4 },
    )
  },
)

test('names and short texts that differ are refused with their number, wherever they stand and whatever stands between', () => {
  const names = Array.from({ length: 400_000 }, (_, at) => `"m${at}" : "a long text as real ones have it"`)
  expect(() => parseBounded(Buffer.from(`{${names.join(',')}}`))).toThrow(
    /bytes hold 3\d{5} different names and short texts, and \d+ are taken; send fewer in one$/,
  )
  const texts = Array.from({ length: 500_000 }, (_, at) => `"${at}"`)
  expect(() => parseBounded(Buffer.from(`[${texts.join(',')}]`))).toThrow(/different names and short texts/)
  const alike = Array.from(
    { length: 400_000 },
    (_, at) => `{"name":"a long text as real ones have it","x":${at}}`,
  )
  expect(parseBounded(Buffer.from(`[${alike.join(',')}]`))).toHaveLength(400_000)
})
