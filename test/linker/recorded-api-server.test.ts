import { expect, test } from '@jest/globals'
import { recordedObservations } from '../../lab/harness/inference/rollout-recording.ts'
import { NANOS_PER_MS } from '../../src/model/time-and-size.ts'
import { recordedSpans, requestOfApiServer } from '../support/recorded-api-server.ts'
import { liveThroughRollout } from '../support/recorded-rollout.ts'
import type { SentSpan } from '../support/sent-spans.ts'
import { TestClock } from '../support/test-clock.ts'
import { TestWriter } from '../support/test-writer.ts'

const FILTERS = 'k8s.op/apiserver/pkg/endpoints/filterlatency'
const SPANS = recordedSpans()
const OTHERS = SPANS.filter(({ scope }) => scope !== FILTERS)
const START_MS = Number((recordedObservations(['audit', 'watch'])[0]?.seenNs ?? 0n) / NANOS_PER_MS)

/** The recorded rollout, and then what the API server said of it, so many spans a request. */
async function told(atOnce: number, keepsFilters = false): Promise<TestWriter> {
  const known = await TestWriter.open(
    { linking: { settleAfterMs: 3_000_000, maxOpenMs: 3_000_000, awaitsRequests: true }, keepsFilters },
    ':memory:',
    new TestClock(START_MS),
  )
  const { writer } = await liveThroughRollout({ known })
  for (let at = 0; at < SPANS.length; at += atOnce)
    writer.ingest('traces', requestOfApiServer(SPANS.slice(at, at + atOnce)))
  writer.pass(10_000)
  return writer
}

const RECORDED = new Set(SPANS.map(({ spanId }) => spanId))

interface Told {
  readonly span: SentSpan
  /** What it hangs under, by name. */
  readonly under: string
  readonly isJoined: boolean
}

/** What was sent of the recorded spans, without copies. */
function sentOf(writer: TestWriter): Told[] {
  const sent = writer.sent()
  const names = new Map(sent.map(({ traceId, spanId, name }) => [`${traceId} ${spanId}`, name]))
  return sent
    .filter(({ spanId, attributes }) => RECORDED.has(spanId) && attributes['cpid.copy'] !== true)
    .map((span) => ({
      span,
      under:
        span.parentSpanId === ''
          ? 'nothing'
          : (names.get(`${span.traceId} ${span.parentSpanId}`) ?? 'nobody there'),
      isJoined: span.attributes['cpid.id'] !== undefined,
    }))
}

/** By which kinds of spans which hang. */
const placesOf = (told: readonly Told[]): string[] =>
  [...new Set(told.map(({ span, under }) => `${kindOf(span.name)} under ${kindOf(under)}`))].sort()

/** A request without what it is for; a write without its object. */
const kindOf = (name: string): string =>
  name.replace(/^([A-Z]+) \/.*/, '$1').replace(/^([a-z]+) \S*v\d\/.*/, 'the $1')

test('what a real API server says of its writes hangs below them, without its filters', async () => {
  using writer = await told(SPANS.length)
  const all = sentOf(writer)
  expect(all).toHaveLength(OTHERS.length)
  const requests = OTHERS.filter(({ kind, name }) => kind === 2 && !name.startsWith('GET'))
  const joined = new Set(all.flatMap(({ span, isJoined }) => (isJoined ? [span.spanId] : [])))
  const left = requests.filter(({ spanId }) => !joined.has(spanId)).map(({ name }) => name)
  expect([requests.length, left]).toMatchInlineSnapshot(`
   [
     60,
     [
       "PUT /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}/status",
       "PUT /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}/status",
     ],
   ]
  `)
  expect(placesOf(all.filter(({ isJoined }) => isJoined))).toMatchInlineSnapshot(`
   [
     "Create etcd3 under Create",
     "Create under POST",
     "DELETE under the delete",
     "Delete under DELETE",
     "GuaranteedUpdate etcd3 under Create",
     "GuaranteedUpdate etcd3 under Delete",
     "GuaranteedUpdate etcd3 under Patch",
     "GuaranteedUpdate etcd3 under Update",
     "PATCH under the patch",
     "PATCH under the scale",
     "PATCH under the update",
     "POST under the bind",
     "POST under the create",
     "PUT under the update",
     "Patch under PATCH",
     "SerializeObject under Create",
     "SerializeObject under Delete",
     "SerializeObject under Patch",
     "SerializeObject under Update",
     "Update under PUT",
     "cacher.Get under Delete",
     "etcdserverpb.KV/Range under cacher.Get",
     "etcdserverpb.KV/Txn under Create etcd3",
     "etcdserverpb.KV/Txn under GuaranteedUpdate etcd3",
   ]
  `)
})

test('however its spans come, each comes out once, and in a cascade under something that is there', async () => {
  for (const atOnce of [1, 7, 100]) {
    using writer = await told(atOnce)
    const all = sentOf(writer)
    expect(all.filter(({ isJoined, under }) => isJoined && under.startsWith('no'))).toEqual([])
    expect(new Set(all.map(({ span }) => span.spanId)).size).toBe(OTHERS.length)
    expect(all).toHaveLength(OTHERS.length)
  }
})

test('the filters are spans like others where they are asked for', async () => {
  using writer = await told(SPANS.length, true)
  const all = sentOf(writer)
  expect(all).toHaveLength(SPANS.length)
  expect(placesOf(all)).toContain('Create under authorization')
})
