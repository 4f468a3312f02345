import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { AWAITING, CHANGE, POD, REQUEST, request } from '../support/joined-spans.ts'
import { emptyDatabase } from '../support/empty-database.ts'
import { traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const [txn, create, post] = request()
const POD_ATTRIBUTES = { 'k8s.pod.uid': 'u', 'k8s.pod.name': 'web-1', 'k8s.namespace.name': 'shop' }

/** What comes, in whichever order. */
const TOLD: readonly ((writer: TestWriter) => void)[] = [
  (writer) => writer.mergelogs('kubectl', [{ new: CHANGE }], 'eu'),
  (writer) =>
    writer.spans(
      'kubectl',
      [
        {
          ...{ trace: 1, id: 1, name: 'write', cpid: CHANGE, start: 1 },
          attributes: {
            ...{ 'cpid.cause': 'operator', 'cpid.audit_id': REQUEST, 'cpid.wrote': [`${POD}?uid=u&rv=7`] },
          },
        },
      ],
      'eu',
    ),
  (writer) => writer.spans('apiserver', [txn!]),
  (writer) => writer.spans('apiserver', [create!]),
  (writer) => writer.spans('apiserver', [post!]),
  (writer) =>
    writer.spans('kubelet', [{ trace: 5, id: 51, name: 'syncPod', start: 50, attributes: POD_ATTRIBUTES }]),
  (writer) => writer.spans('kubelet', [{ trace: 5, id: 52, parent: 51, name: 'call', start: 51 }]),
  (writer) =>
    writer.spans('apiserver', [{ trace: 6, id: 61, name: 'GET', start: 52, links: [{ trace: 5, id: 52 }] }]),
]

const PLACES = [
  'Create under POST',
  'GET under call',
  'POST under write',
  'Txn under Create',
  'call under syncPod',
  'syncPod under write',
  'write under change',
]

function placesOf(writer: TestWriter): string[] {
  const spans = writer.sent().filter(({ traceId }) => traceId === traceOf(CHANGE))
  const names = new Map(spans.map(({ spanId, name }) => [spanId, name]))
  return spans
    .filter(({ name }) => name !== 'change')
    .map(({ name, parentSpanId }) => `${name} under ${names.get(parentSpanId) ?? 'nobody'}`)
    .sort()
}

const step = fc.record({ passMs: fc.constantFrom(0, 0, 1, 1_000), restarts: fc.boolean() })

test('in whatever order spans come within the wait, with Causeway started again in between, each joins what it belongs to', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([...TOLD], { minLength: TOLD.length }),
      fc.array(step, { minLength: TOLD.length, maxLength: TOLD.length }),
      async (told, steps) => {
        using first = TestWriter.on(await emptyDatabase(), { linking: AWAITING })
        let writer = first
        for (const [at, tell] of told.entries()) {
          tell(writer)
          writer.pass(steps[at]!.passMs)
          if (steps[at]!.restarts) writer = writer.reopened()
        }
        writer.link()
        expect(placesOf(writer)).toEqual(PLACES)
        expect([writer.rows('waiting'), writer.rows('awaited_joins')]).toEqual([0, 0])
      },
    ),
    { numRuns: 60 },
  )
})

test('whichever spans are missing, each of the others is sent once, under something that is there, and nothing waits for ever', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray([...TOLD]),
      fc.array(step, { minLength: TOLD.length, maxLength: TOLD.length }),
      async (told, steps) => {
        using first = TestWriter.on(await emptyDatabase(), { linking: AWAITING })
        let writer = first
        for (const [at, tell] of told.entries()) {
          tell(writer)
          writer.pass(steps[at]!.passMs)
          if (steps[at]!.restarts) writer = writer.reopened()
        }
        for (let turn = 0; turn < 8; turn++) writer.pass(10_000)
        expect(placesOf(writer).filter((place) => place.endsWith('nobody'))).toEqual([])
        const ids = writer.sent().map(({ traceId, spanId }) => `${traceId} ${spanId}`)
        expect(new Set(ids).size).toBe(ids.length)
        expect([writer.rows('waiting'), writer.rows('awaited_joins')]).toEqual([0, 0])
      },
    ),
    { numRuns: 60 },
  )
})
