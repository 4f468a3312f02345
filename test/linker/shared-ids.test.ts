import { expect, test } from '@jest/globals'
import { checkRepeats } from '../support/repeats-encoded-otherwise.ts'
import { cpid, hexSpan, hexTrace, type SpanSketch } from '../support/otlp-requests.ts'
import { traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const [ALPHA, BETA] = [cpid(0xa), cpid(0xb)]

test.each(['traces', 'logs'] as const)(
  '%s: what is sent again, batched and encoded otherwise, is stored, shown and sent once, and all that differs is kept',
  async (signal) => {
    await checkRepeats(signal, 30)
  },
)

/** The client's and the server's span of one call, as Zipkin has them: the same ids, the same parent. */
const shared = (carried?: string): SpanSketch => ({
  trace: 1,
  id: 5,
  parent: 4,
  ...(carried !== undefined && { cpid: carried }),
})

test('the spans of client and server with the same ids both go where their parent goes', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: ALPHA }])
  writer.spans('client', [{ trace: 1, id: 4, cpid: ALPHA }])
  writer.spans('client', [shared()])
  writer.spans('server', [shared()])
  writer.link()
  const calls = writer.sent().filter(({ spanId }) => spanId === hexSpan(5))
  expect(calls.map(({ service, traceId, parentSpanId }) => [service, traceId, parentSpanId])).toEqual([
    ['client', traceOf(ALPHA), hexSpan(4)],
    ['server', traceOf(ALPHA), hexSpan(4)],
  ])
  expect(
    writer.db.prepare('SELECT service FROM audit_spans WHERE span_id = ?').pluck().all(hexSpan(5)),
  ).toEqual(['client', 'server'])
})

test.each([
  ['client', ALPHA],
  ['server', BETA],
])(
  'of two parents with the same ids a child takes the CPID of its own service: %s',
  async (service, taken) => {
    using writer = await TestWriter.open()
    writer.mergelogs('kubectl', [{ new: ALPHA }, { new: BETA }])
    writer.spans('client', [shared(ALPHA)])
    writer.spans('server', [shared(BETA)])
    writer.spans('other', [shared(BETA)])
    writer.spans(service, [{ trace: 1, id: 6, parent: 5 }])
    writer.link()
    const child = writer.sent().find(({ spanId }) => spanId === hexSpan(6))
    expect(child).toMatchObject({ traceId: traceOf(taken), parentSpanId: hexSpan(5) })
  },
)

test('many spans with the same ids are all kept', async () => {
  using writer = await TestWriter.open()
  const spans = Array.from({ length: 200 }, (_, at) => ({ trace: 1, id: 1, name: `span ${at}` }))
  writer.spans('a', spans)
  writer.spans('a', spans.slice(0, 50).reverse())
  writer.link()
  expect(writer.rows('spans')).toBe(200)
})

test.each([
  ['spans up to 1 KiB', 10, 64],
  ['spans above 1 KiB', 1_100, 4],
])(
  'of %s with the same ids, what is sent again is found among as many as the documents say',
  async (_, bytes, compared) => {
    using writer = await TestWriter.open()
    const spans = Array.from({ length: compared + 1 }, (_, at) => ({
      ...{ trace: 1, id: 1, name: 'a'.repeat(bytes) + String(at) },
    }))
    writer.spans('a', spans)
    writer.spans('a', spans.slice(0, compared))
    writer.link()
    expect(writer.rows('spans')).toBe(compared + 1)
    writer.spans('a', spans.slice(compared))
    writer.link()
    expect(writer.rows('spans')).toBe(compared + 2)
  },
)

test.each([
  ['another trace', 1n, 1],
  // As Causeway sends it itself, so that another Causeway may be told of it.
  ['the trace of its change', BigInt(`0x${traceOf(ALPHA)}`), 0],
])(
  'a span of %s with the id of the change span of its CPID does not take its place',
  async (_, trace, left) => {
    using writer = await TestWriter.open()
    writer.mergelogs('kubectl', [{ new: ALPHA }])
    writer.link()
    const root = writer.sent()[0]?.spanId ?? ''
    writer.spans('forger', [{ trace, id: 1, spanId: root, cpid: ALPHA }])
    writer.spans('controller', [{ trace: 2, id: 2, cpid: ALPHA }])
    writer.link()
    const sent = writer.sent().filter(({ spanId }) => spanId === root)
    expect(sent.map(({ name, traceId }) => [name, traceId])).toEqual([
      ['change', traceOf(ALPHA)],
      ...(left === 0 ? [] : [['span 1', hexTrace(1)]]),
    ])
    expect(writer.writer.linking.takeCounts()).toMatchObject({ ownIds: 1, beyondShare: 0 })
  },
)
