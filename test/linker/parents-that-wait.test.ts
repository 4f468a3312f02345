import { expect, test } from '@jest/globals'
import {
  cpid,
  hexSpan,
  hexTrace,
  mergelogEvent,
  mergelogsRequest,
  spansRequest,
  type SpanSketch,
} from '../support/otlp-requests.ts'
import { drawTrace, traceOf } from '../support/sent-spans.ts'
import { expectSoundTraces } from '../support/sound-traces.ts'
import { TestWriter } from '../support/test-writer.ts'

const [ALPHA, BETA] = [cpid(0xa), cpid(0xb)]
const WAIT = 10_000
/** The store's thread comes round now and then: never at the very millisecond. */
const ROUND = 53
const UNKNOWN = { 'cpid.observed': ['v1/secrets/default/unknown?rv=7'] }

async function begun(): Promise<TestWriter> {
  const writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  return writer
}

/** Each below the one before; the last comes first, as SDKs end spans. */
function nested(depth: number, top: Partial<SpanSketch> = {}): SpanSketch[] {
  const spans = Array.from({ length: depth }, (_, at): SpanSketch => ({
    ...{ trace: 1, id: at + 1, name: `level ${at + 1}` },
    ...(at === 0 ? top : { parent: at }),
  }))
  return spans.reverse()
}

/** Lets time go by, a round at a time. */
function pass(writer: TestWriter, ms: number): void {
  for (let left = ms; left > 0; left -= ROUND) writer.pass(Math.min(left, ROUND))
}

/** Where each received span was sent, in the order in which it was: its id, and its trace. */
const sentTo = (writer: TestWriter): [string, string][] =>
  writer
    .sent()
    .filter(({ attributes }) => attributes['cpid.synthetic'] !== true)
    .map(({ spanId, traceId, attributes }) => [
      `${Number.parseInt(spanId, 16)}${attributes['cpid.copy'] === true ? ' copy' : ''}`,
      traceId,
    ])

test('what comes before a top that waits for a writer is sent once, below it', async () => {
  using writer = await begun()
  writer.spans('controller', nested(4, { cpid: ALPHA, attributes: UNKNOWN }))
  writer.pass(WAIT + ROUND)
  writer.pass(WAIT + ROUND)
  expect(drawTrace(writer.sent(), traceOf(ALPHA))).toBe(
    'change @kubectl\n  level 1 @controller\n    level 2 @controller\n      level 3 @controller\n        level 4 @controller',
  )
  expect(sentTo(writer)).toHaveLength(4)
})

test('what comes before a top whose mergelog never comes is sent once, below it', async () => {
  using writer = await TestWriter.open()
  writer.spans('controller', nested(4, { cpid: BETA }))
  writer.pass(WAIT + ROUND)
  expect(sentTo(writer).map(([, trace]) => trace)).toEqual(Array(4).fill(traceOf(BETA)))
  expectSoundTraces(writer.sent())
})

test('a span that waits beside one that went without a CPID is no copy', async () => {
  using writer = await begun()
  writer.spans('controller', [{ trace: 1, id: 3, parent: 2 }])
  pass(writer, WAIT)
  writer.spans('controller', [{ trace: 1, id: 2, parent: 1 }])
  writer.spans('controller', [{ trace: 1, id: 4, parent: 2 }])
  writer.link()
  writer.spans('controller', [{ trace: 1, id: 1, cpid: ALPHA }])
  writer.link()
  const places = sentTo(writer).map(([id, trace]) => `${id} in ${trace}`)
  expect(places.sort()).toEqual([
    `1 in ${traceOf(ALPHA)}`,
    `2 in ${traceOf(ALPHA)}`,
    `3 copy in ${traceOf(ALPHA)}`,
    `3 in ${hexTrace(1)}`,
    `4 in ${traceOf(ALPHA)}`,
  ])
})

test('a child that comes just before the mergelog that moves its parent keeps its parent', async () => {
  using writer = await begun()
  writer.spans('controller', [{ trace: 2, id: 20, cpid: BETA }])
  pass(writer, 2 * WAIT)
  const merged = mergelogEvent({ new: BETA, sources: [ALPHA] })
  writer.spans('controller', [
    { trace: 2, id: 21, parent: 20 },
    { trace: 1, id: 10, cpid: ALPHA, events: [merged] },
  ])
  writer.link()
  const there = writer.sent().filter(({ traceId }) => traceId === traceOf(ALPHA))
  expect(there.find(({ spanId }) => spanId === hexSpan(21))?.parentSpanId).toBe(hexSpan(20))
  expectSoundTraces(writer.sent())
})

test('parents that come late one after another are waited for, and no span waits for longer than twice `wait`', async () => {
  using writer = await begun()
  const [fourth, third, second, top] = nested(4, { cpid: ALPHA })
  if (fourth === undefined || third === undefined || second === undefined || top === undefined) return
  writer.spans('controller', [fourth])
  pass(writer, 9_000)
  writer.spans('controller', [third])
  pass(writer, 9_000)
  writer.spans('controller', [second])
  pass(writer, 1_900)
  expect(sentTo(writer)).toEqual([])
  pass(writer, 200)
  expect(sentTo(writer)).toEqual(['2', '3', '4'].map((id) => [id, hexTrace(1)]))
  writer.spans('controller', [top])
  writer.link()
  expect(sentTo(writer).slice(3)).toEqual(
    ['1', '2 copy', '3 copy', '4 copy'].map((id) => [id, traceOf(ALPHA)]),
  )
})

test.each([2, 100])(
  '%d spans without a CPID that wait in a circle end after twice `wait`',
  async (length) => {
    using writer = await TestWriter.open()
    writer.spans(
      'odd',
      Array.from({ length }, (_, at) => ({ trace: 1, id: at + 1, parent: ((at + 1) % length) + 1 })),
    )
    pass(writer, 2 * WAIT + ROUND)
    expect(writer.rows('waiting')).toBe(0)
    expect(new Set(sentTo(writer).map(([id]) => id)).size).toBe(length)
    expect(sentTo(writer)).toHaveLength(length)
  },
)

test('a deep trace whose top never comes goes at once, without a CPID, parents first', async () => {
  using writer = await TestWriter.open()
  const [, ...rest] = nested(300).reverse()
  writer.spans('controller', rest.reverse())
  writer.pass(WAIT + ROUND)
  expect(sentTo(writer)).toEqual(Array.from({ length: 299 }, (_, at) => [String(at + 2), hexTrace(1)]))
})

test('a child that comes just before the late mergelog of its parent follows it into the trace of an unknown root', async () => {
  using writer = await TestWriter.open()
  const [unknown, merged] = [cpid(2), cpid(3)]
  writer.spans('controller', [{ trace: 1, id: 1, cpid: merged, name: 'parent' }])
  pass(writer, 2 * WAIT)
  writer.spans('controller', [{ trace: 1, id: 2, parent: 1, name: 'child' }])
  writer.mergelogs('controller', [{ new: merged, sources: [unknown] }])
  pass(writer, 2 * WAIT)
  const child = writer
    .sent()
    .find(({ spanId, traceId }) => spanId === hexSpan(2) && traceId === traceOf(unknown))
  expect(child?.parentSpanId).toBe(hexSpan(1))
  expectSoundTraces(writer.sent())
})

test('a child stored together with a late mergelog, whose source is not explained either, is sent once and no copy', async () => {
  using writer = await TestWriter.open()
  const [unknown, merged] = [cpid(2), cpid(3)]
  writer.spans('controller', [{ trace: 1, id: 1, cpid: merged }])
  pass(writer, 2 * WAIT)
  writer.ingest('traces', spansRequest('controller', [{ trace: 1, id: 2, parent: 1 }]))
  writer.ingest('logs', mergelogsRequest('controller', [{ new: merged, sources: [unknown] }]))
  pass(writer, 2 * WAIT)
  const child = writer.sent().filter(({ spanId }) => spanId === hexSpan(2))
  expect(child.map(({ traceId, attributes }) => [traceId, attributes['cpid.copy']])).toEqual([
    [traceOf(unknown), undefined],
  ])
})

test.each([2, 10_000])(
  'a child stored together with the late mergelog of its parent goes after that, in traces of %i spans',
  async (maxTraceSpans) => {
    using writer = await TestWriter.open({ linking: { maxTraceSpans } })
    const [root, merged] = [cpid(2), cpid(3)]
    writer.mergelogs('kubectl', [{ new: root }])
    writer.spans('controller', [{ trace: 1, id: 1, cpid: merged }])
    pass(writer, 2 * WAIT)
    // Nothing is linked between the two.
    writer.ingest('traces', spansRequest('controller', [{ trace: 1, id: 2, parent: 1 }]))
    writer.ingest('logs', mergelogsRequest('controller', [{ new: merged, sources: [root] }]))
    pass(writer, 2 * WAIT)
    const order = writer.sent().filter(({ attributes }) => attributes['cpid.synthetic'] !== true)
    expect(order.map(({ spanId }) => spanId)).toEqual([hexSpan(1), hexSpan(1), hexSpan(2)])
    expectSoundTraces(writer.sent())
  },
)
