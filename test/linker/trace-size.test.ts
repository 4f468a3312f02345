import { expect, test } from '@jest/globals'
import { cpid, type SpanSketch } from '../support/otlp-requests.ts'
import { countedByTempo } from '../support/sent-requests.ts'
import { traceOf, type SentSpan } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1)
const heavy = (id: number, bytes: number): SpanSketch => ({
  trace: id,
  id,
  cpid: cpid(1),
  attributes: { ballast: 'x'.repeat(bytes) },
})

function perTrace(sent: readonly SentSpan[]): Map<string, string[]> {
  const traces = new Map<string, string[]>()
  for (const { traceId, name } of sent) traces.set(traceId, [...(traces.get(traceId) ?? []), name])
  return traces
}

test.each(['cascade', 'links'] as const)('%s: back links count like any other span', async (mode) => {
  using writer = await TestWriter.open({ linking: { mode, maxTraceSpans: 50 } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  writer.pass(300_001)
  for (const at of range(300)) {
    writer.mergelogs('merger', [{ new: cpid(1_000 + at) }])
    writer.mergelogs('merger', [{ new: cpid(2_000 + at), sources: [cpid(1), cpid(1_000 + at)] }])
  }
  writer.pass(300_001)
  const traces = perTrace(writer.sent())
  for (const names of traces.values()) expect(names.length).toBeLessThanOrEqual(50)
  const told = traces.get(traceOf(cpid(1)))?.filter((name) => name === 'merged into').length ?? 0
  expect(told).toBeGreaterThan(40)
  expect(writer.writer.linking.takeCounts().leftOut).toBe(300 - told)
})

test('a span that does not fit goes into an episode, and one too large for any trace into one of its own', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceBytes: 100_000 } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  writer.spans('controller', [heavy(1, 40_000), heavy(2, 60_000), heavy(3, 150_000), heavy(4, 1_000)])
  writer.pass(300_001)
  const traces = [...perTrace(writer.sent()).values()]
  expect(traces.map((names) => names.filter((name) => name.startsWith('span ')))).toEqual([
    ['span 1'],
    ['span 2'],
    ['span 3'],
    ['span 4'],
  ])
  const counted = [...countedByTempo(writer.db, 1).values()]
  expect(counted.filter((bytes) => bytes > 100_000).length).toBe(1)
})

test('however spans are batched, Tempo adds up no more than max_trace_bytes', async () => {
  const maxTraceBytes = 200_000
  using writer = await TestWriter.open({ linking: { maxTraceBytes } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  for (const node of range(300)) {
    writer.spans(
      `node-${node}`,
      [
        { trace: node, id: node * 10, cpid: cpid(1) },
        { trace: node, id: node * 10 + 1, parent: node * 10 },
      ],
      `a resource of five hundred bytes ${'x'.repeat(500)}`,
    )
  }
  writer.pass(300_001)
  const sent = writer.sent()
  expect(sent.filter((span) => span.name.startsWith('span ')).length).toBe(600)
  for (const mostSpans of [1, 7, 10_000]) {
    for (const bytes of countedByTempo(writer.db, mostSpans).values()) {
      expect(bytes).toBeLessThanOrEqual(maxTraceBytes)
    }
  }
})

test('a span counts for no less than it is sent with, whatever the decision adds to it', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [
    { new: cpid(1) },
    { new: cpid(2) },
    { new: cpid(3), sources: [cpid(1), cpid(2)] },
  ])
  // To each child its CPID is added, where it came from, and in one of the two traces that it is a copy.
  const children = range(400).map((at) => ({ trace: 1, id: 10 + at, parent: 1, name: 'x' }))
  writer.spans('c', [{ trace: 1, id: 1, cpid: cpid(3), name: 'x' }, ...children])
  writer.pass(11_000)
  const counted = writer.db
    .prepare<[], { trace: Buffer; bytes: number }>(
      'SELECT trace_id AS trace, sent_bytes AS bytes FROM traces',
    )
    .all()
  const sent = countedByTempo(writer.db, 1)
  const beyond = counted.map(({ trace, bytes }) => bytes - (sent.get(trace.toString('hex')) ?? Infinity))
  expect(beyond).toHaveLength(2)
  // Where it is a copy there is no room for one more attribute; nowhere is there too little.
  const [least = -1] = beyond.sort((a, b) => a - b)
  expect(least).toBeGreaterThanOrEqual(0)
  expect(least).toBeLessThan(400 * 20)
})

test('a parent that comes late goes into a full trace as long as the bytes kept for such last', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceBytes: 100_000 } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  writer.spans('controller', [
    { ...heavy(11, 45_000), parent: 10 },
    { ...heavy(21, 45_000), parent: 20 },
  ])
  writer.link()
  writer.spans('controller', [
    { ...heavy(20, 2_000), trace: 21 },
    { ...heavy(10, 20_000), trace: 11 },
  ])
  writer.pass(300_001)
  const main = perTrace(writer.sent()).get(traceOf(cpid(1))) ?? []
  expect(main).toContain('span 20')
  expect(main).not.toContain('span 10')
  expect(writer.sent().filter((span) => span.name === 'span 10').length).toBe(1)
  for (const bytes of countedByTempo(writer.db, 1).values()) expect(bytes).toBeLessThanOrEqual(100_000)
})
