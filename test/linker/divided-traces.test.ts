import { expect, test } from '@jest/globals'
import { ingestChains } from '../support/divided-cascade.ts'
import { cpid, hexSpan } from '../support/otlp-requests.ts'
import { traceOf, type SentSpan } from '../support/sent-spans.ts'
import { expectSoundTraces } from '../support/sound-traces.ts'
import { TestWriter } from '../support/test-writer.ts'

const POD = 'v1/pods/default/web'

/** Where a span says its cause is. */
const causeOf = ({ attributes }: SentSpan): unknown[] => [
  attributes['cpid.cause.trace_id'],
  attributes['cpid.cause.span_id'],
]

const placeOf = ({ traceId, spanId }: SentSpan): string[] => [traceId, spanId]

test('a span whose cause is in another trace of its cascade links to it and says so', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceSpans: 100 } })
  ingestChains(writer, { objects: 15, writes: 100 })
  writer.pass(300_001)
  const sent = writer.sent()
  expectSoundTraces(sent)
  const received = new Map(
    sent.filter(({ name }) => name.startsWith('write ')).map((span) => [span.name, span]),
  )
  expect(received.size).toBe(1500)
  let linked = 0
  for (const span of received.values()) {
    const [, round, object] = /^write (\d+) of (\d+)$/.exec(span.name) ?? []
    const cause = received.get(`write ${Number(round) - 1} of ${object}`)
    if (cause === undefined) continue
    if (cause.traceId === span.traceId) {
      expect(span.parentSpanId).toBe(cause.spanId)
      expect(causeOf(span)).toEqual([undefined, undefined])
    } else {
      linked++
      expect(span.links).toMatchObject([{ traceId: cause.traceId, spanId: cause.spanId }])
      expect(causeOf(span)).toEqual(placeOf(cause))
    }
  }
  expect(linked).toBeGreaterThan(400)
})

test('a local child in another trace than its parent links to it, even if it observed something', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceSpans: 3 } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  writer.spans('writer', [
    { trace: 1, id: 1, cpid: cpid(1), name: 'write', attributes: { 'cpid.wrote': [`${POD}?rv=5`] } },
  ])
  writer.spans('controller', [{ trace: 2, id: 2, cpid: cpid(1), name: 'parent' }])
  writer.link()
  const child = { trace: 2, id: 3, parent: 2, cpid: cpid(1), name: 'child' }
  writer.spans('controller', [{ ...child, attributes: { 'cpid.observed': [`${POD}?rv=5`] } }])
  writer.link()
  const sent = writer.sent()
  expectSoundTraces(sent)
  const [parent] = sent.filter(({ name }) => name === 'parent')
  const [linked] = sent.filter(({ name }) => name === 'child')
  expect(linked?.traceId).not.toBe(parent?.traceId)
  expect(causeOf(linked!)).toEqual([parent?.traceId, hexSpan(2)])
})

test('an episode is named after the object of its root', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceSpans: 10 } })
  ingestChains(writer, { objects: 3, writes: 10 })
  writer.pass(3_600_000)
  writer.spans('controller', [{ trace: 900, id: 9000, cpid: cpid(1), start: 3_600_000 }])
  writer.link()
  const episodes = writer.sent().filter(({ name }) => name.startsWith('episode'))
  expect(episodes.length).toBeGreaterThan(5)
  for (const { name, attributes } of episodes) {
    expect(name).toBe('episode apps/v1/deployments')
    expect(attributes['cpid.object']).toBe('apps/v1/deployments/default/web?rv=1')
  }
})

test('an auditor sees what a span waited for, in whichever trace that was', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceSpans: 20 } })
  ingestChains(writer, { objects: 3, writes: 20 })
  writer.pass(300_001)
  const waited = writer.db
    .prepare(
      `SELECT round(waited_ms) AS ms, count(*) AS spans FROM audit_cascade_spans GROUP BY 1 ORDER BY 1`,
    )
    .all()
  expect(waited).toEqual([
    { ms: null, spans: 3 + 3 * 20 },
    { ms: 7, spans: 3 * 19 },
  ])
  const parts = writer.db.prepare('SELECT trace_id, continues FROM audit_cascades ORDER BY episode').all()
  const [first, ...rest] = parts as { trace_id: string; continues: string | null }[]
  expect(first?.continues).toBeNull()
  expect(new Set(rest.map(({ continues }) => continues))).toEqual(new Set([first?.trace_id]))
})

test('after a restart the causes of a cascade are found as before', async () => {
  const played = async (restarts: boolean): Promise<unknown> => {
    using writer = await TestWriter.open({ linking: { maxTraceSpans: 20 } })
    ingestChains(writer, { objects: 5, writes: 10 })
    const after = restarts ? writer.reopened() : writer
    for (const object of [0, 1, 2, 3, 4]) {
      const observed = { 'cpid.observed': [`v1/pods/default/p-${object}?rv=10`] }
      after.spans('late', [{ trace: 800 + object, id: 8000 + object, cpid: cpid(1), attributes: observed }])
    }
    after.link()
    return writer
      .sent()
      .filter(({ service }) => service === 'late')
      .map((span) => [placeOf(span), span.parentSpanId, causeOf(span), span.links])
  }
  const undisturbed = await played(false)
  expect(await played(true)).toEqual(undisturbed)
  expect(JSON.stringify(undisturbed)).toContain(hexSpan((9 * 5 + 1) * 10))
})

interface Told {
  attributes: Record<string, unknown>
  times: [bigint, bigint]
  seconds: number
}

/** What is told of a cascade that settled, by its only `cascade` span and by metrics. */
async function told(maxTraceSpans: number): Promise<Told> {
  using writer = await TestWriter.open({ linking: { maxTraceSpans } })
  ingestChains(writer, { objects: 5, writes: 20 })
  writer.spans('another', [{ trace: 7_000, id: 70_000, cpid: cpid(1), start: 20, end: 30 }])
  writer.mergelogs('merger', [{ new: cpid(2), sources: [cpid(1)], time: 40 }])
  writer.spans('another', [{ trace: 7_001, id: 70_010, cpid: cpid(2), start: 50, end: 60 }])
  writer.pass(300_001)
  const spans = writer.sent().filter(({ name }) => name === 'cascade')
  expect(spans.map(({ traceId }) => traceId)).toEqual([traceOf(cpid(1))])
  const { attributes, startNs, endNs, spanId } = spans[0]!
  const [series] = writer.writer.linking.takeFigures().durations
  expect(series?.exemplars.filter(Boolean)).toMatchObject([{ traceId: traceOf(cpid(1)), spanId }])
  expect(series?.counts.filter((count) => count > 0)).toEqual([1])
  return { attributes, times: [startNs, endNs], seconds: series?.sum ?? 0 }
}

test('a cascade of many traces is told of once, as a whole, where it began', async () => {
  const divided = await told(20)
  expect(divided).toEqual(await told(10_000))
  expect(divided.attributes).toMatchObject({
    'cpid.cascade.duration_ms': 1 + 20 * 10 + 19 * 7,
    'cpid.cascade.spans': 202,
    'cpid.cascade.services': 2,
    'cpid.cascade.merges': 1,
  })
})

test('a parent that is brought to children in two traces of a cascade counts once', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceSpans: 7 } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  const children = Array.from({ length: 9 }, (_, at) => ({
    trace: 1,
    id: at + 1,
    parent: 100,
    cpid: cpid(1),
  }))
  writer.spans('controller', children)
  writer.link()
  writer.spans('controller', [{ trace: 1, id: 100, cpid: cpid(1), name: 'parent' }])
  writer.pass(300_001)
  expect(writer.sent().filter(({ name }) => name === 'parent').length).toBeGreaterThan(1)
  const spans = writer.db.prepare('SELECT sum(spans) FROM audit_cascades').pluck().get()
  expect(spans).toBe(10)
  const cascade = writer.sent().filter(({ name }) => name === 'cascade')
  expect(cascade.map(({ attributes }) => attributes['cpid.cascade.spans'])).toEqual([10])
})
