import { expect, test } from '@jest/globals'
import { cpid, START_NS, type SpanSketch } from '../support/otlp-requests.ts'
import { traceOf, type SentSpan } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const DAY = 86_400_000
/** Milliseconds after START_NS of the first moment of Unix time. */
const EPOCH = -Number(START_NS / 1_000_000n)
const YEARS = 12 * 365 * DAY

interface Bounds {
  start: string
  last_activity: string
  clock_skew: string
}

const boundsOf = (writer: TestWriter): Bounds | undefined =>
  writer.db.prepare<[], Bounds>('SELECT start, last_activity, clock_skew FROM audit_cascades').get()

const named = (sent: readonly SentSpan[], name: string): SentSpan | undefined =>
  sent.find((span) => span.name === name)

async function after(spans: readonly SpanSketch[], withMergelog: boolean): Promise<TestWriter> {
  const writer = await TestWriter.open()
  writer.clock.advance(60_000)
  if (withMergelog) writer.mergelogs('kubectl', [{ new: cpid(1), time: 59_000 }])
  for (const span of spans) writer.spans('controller', [{ cpid: cpid(1), ...span }])
  writer.pass(10_001)
  writer.pass(300_001)
  return writer
}

const GOOD: SpanSketch = { trace: 9, id: 9, start: 59_100, end: 59_400 }

const WRONG: [string, SpanSketch][] = [
  ['a start of 0', { trace: 1, id: 1, start: EPOCH, end: 59_200 }],
  ['times of 0', { trace: 1, id: 1, start: EPOCH, end: EPOCH }],
  ['a clock that begins with the century', { trace: 1, id: 1, start: -26 * 365 * DAY, end: -26 * 365 * DAY }],
  ['a time far in the future', { trace: 1, id: 1, start: YEARS, end: YEARS + 5 }],
  ['an end far in the future', { trace: 1, id: 1, start: 59_150, end: YEARS }],
  ['an end before the start', { trace: 1, id: 1, start: 59_150, end: 58_000 }],
]

test.each(
  WRONG.flatMap(([what, span]) => [
    [what, 'first', 'with', [span, GOOD]] as const,
    [what, 'last', 'with', [GOOD, span]] as const,
    [what, 'first', 'without', [span, GOOD]] as const,
    [what, 'last', 'without', [GOOD, span]] as const,
  ]),
)(
  '%s on the %s span, %s a mergelog, stays out of the cascade’s bounds, and the cascade says so',
  async (_what, _at, mergelog, spans) => {
    using writer = await after(spans, mergelog === 'with')
    const sent = writer.sent()
    const cascade = named(sent, 'cascade')
    const root = named(sent, 'change')
    const [from, to] = [START_NS + 58_000_000_000n, START_NS + 80_000_000_000n]
    for (const ns of [cascade?.startNs, cascade?.endNs, root?.startNs]) {
      expect(ns).toBeGreaterThanOrEqual(from)
      expect(ns).toBeLessThanOrEqual(to)
    }
    expect(root?.startNs).toBeLessThanOrEqual(START_NS + 59_100_000_000n + 20_000_000_000n)
    expect(cascade?.attributes['cpid.cascade.clock_skew']).toBe(true)
    expect(boundsOf(writer)?.clock_skew).toBe('yes')
    // The span keeps what it said.
    const wrong = spans.find((span) => span !== GOOD)
    expect(named(sent, 'span 1')?.startNs).toBe(START_NS + BigInt(wrong?.start ?? 0) * 1_000_000n)
  },
)

test('a cascade whose clocks are right says nothing of them', async () => {
  using writer = await after([GOOD], true)
  expect(named(writer.sent(), 'cascade')?.attributes).not.toHaveProperty('cpid.cascade.clock_skew')
  expect(boundsOf(writer)).toEqual({
    start: '2026-01-01T00:00:59.000000000Z',
    last_activity: '2026-01-01T00:00:59.400000000Z',
    clock_skew: 'no',
  })
})

test('what comes days late is consistent in itself and keeps its times', async () => {
  using writer = await TestWriter.open()
  writer.clock.advance(40 * DAY)
  writer.mergelogs('kubectl', [{ new: cpid(1), time: 0 }])
  writer.spans('controller', [{ trace: 1, id: 1, cpid: cpid(1), start: 100, end: 700 }])
  writer.pass(300_001)
  expect(boundsOf(writer)).toEqual({
    start: '2026-01-01T00:00:00.000000000Z',
    last_activity: '2026-01-01T00:00:00.700000000Z',
    clock_skew: 'no',
  })
})

test('an old time gives way to plausible ones, whichever comes first', async () => {
  const old: SpanSketch = { trace: 1, id: 1, start: -40 * DAY, end: -40 * DAY + 5 }
  for (const spans of [
    [old, GOOD],
    [GOOD, old],
  ]) {
    using writer = await after(spans, false)
    expect(boundsOf(writer)).toEqual({
      start: '2026-01-01T00:00:59.100000000Z',
      last_activity: '2026-01-01T00:00:59.400000000Z',
      clock_skew: 'yes',
    })
  }
})

test('a root is stamped no later than the first span known when it is sent', async () => {
  using writer = await TestWriter.open()
  writer.clock.advance(60_000)
  writer.spans('kubectl', [{ trace: 1, id: 1, cpid: cpid(1), start: 58_000, end: 59_500 }])
  writer.mergelogs('kubectl', [{ new: cpid(1), time: 59_000 }])
  writer.link()
  const root = writer.sent().find((span) => span.traceId === traceOf(cpid(1)) && span.parentSpanId === '')
  expect(root?.startNs).toBe(START_NS + 58_000_000_000n)
  expect(root?.attributes['cpid.time']).toBe('2026-01-01T00:00:59.000000000Z')
})

test.each(['cascade', 'links'] as const)(
  '%s: what Causeway adds lasts at least a nanosecond',
  async (mode) => {
    using writer = await TestWriter.open({ linking: { mode } })
    writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2) }])
    writer.spans(
      'controller',
      [1, 2, 3, 4].map((id) => ({ trace: id, id, cpid: cpid(1), start: 0, end: 0 })),
    )
    writer.pass(300_001)
    writer.mergelogs('merger', [{ new: cpid(3), sources: [cpid(1), cpid(2)], time: 300_000 }])
    writer.spans('controller', [{ trace: 9, id: 9, cpid: cpid(1), start: 300_000 }])
    writer.pass(300_001)
    const made = writer.sent().filter((span) => span.attributes['cpid.synthetic'] === true)
    expect(new Set(made.map((span) => span.name))).toEqual(
      new Set([
        'change',
        'merge',
        'merged into',
        'episode',
        'continued in',
        ...(mode === 'cascade' ? ['cascade'] : []),
      ]),
    )
    for (const { startNs, endNs } of made) expect(endNs).toBeGreaterThan(startNs)
  },
)
