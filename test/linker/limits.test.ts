import { expect, test } from '@jest/globals'
import { cpid, type MergelogSketch } from '../support/otlp-requests.ts'
import { drawTrace, traceOf } from '../support/sent-spans.ts'
import { TestWriter } from '../support/test-writer.ts'

const range = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1)

test('a CPID keeps its newest roots; one that is cut off while open is counted and says so', async () => {
  using writer = await TestWriter.open({ linking: { maxFanout: 2 } })
  writer.mergelogs(
    'kubectl',
    range(3).map((number): MergelogSketch => ({ new: cpid(number) })),
  )
  writer.mergelogs('merger', [{ new: cpid(9), sources: range(3).map(cpid), time: 1 }])
  writer.spans('merger', [{ trace: 1, id: 11, cpid: cpid(9), name: 'work' }])
  writer.link()
  const into = writer.sent().filter((span) => span.name === 'work')
  expect(into.map((span) => [span.traceId, span.attributes['cpid.copy'] ?? false])).toEqual([
    [traceOf(cpid(3)), false],
    [traceOf(cpid(2)), true],
  ])
  expect(writer.writer.linking.takeCounts().cutRoots).toBe(1)
  expect(drawTrace(writer.sent(), traceOf(cpid(1)))).toBe('change @kubectl\n  merged into @merger')
  writer.pass(300_001)
  const settled = writer.sent().filter((span) => span.name === 'cascade')
  expect(
    settled.find((span) => span.traceId === traceOf(cpid(1)))?.attributes['cpid.cascade.truncated'],
  ).toBe(true)
})

test('an object with a long history costs no more: only the open root gets its new change', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  writer.pass(300_001)
  for (const change of range(20)) {
    const root = cpid(100 + change)
    writer.mergelogs('kubectl', [{ new: root, time: change * 400_000 }])
    writer.mergelogs('controller', [
      {
        new: cpid(200 + change),
        sources: [root, change === 1 ? cpid(1) : cpid(199 + change)],
        time: change * 400_000,
      },
    ])
    writer.spans('controller', [
      { trace: change, id: change, cpid: cpid(200 + change), start: change * 400_000 },
    ])
    writer.pass(300_001)
  }
  const sent = writer.sent().filter((span) => span.name.startsWith('span '))
  expect(sent.map((span) => span.traceId)).toEqual(range(20).map((change) => traceOf(cpid(100 + change))))
})

test('a full trace goes on in an episode while its root stays open', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceSpans: 7 } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  writer.spans(
    'looping',
    range(9).map((id) => ({ trace: id, id, cpid: cpid(1) })),
  )
  writer.link()
  const sent = writer.sent()
  const traces = [...new Set(sent.map((span) => span.traceId))]
  expect(traces.length).toBe(3)
  expect(
    sent.filter((span) => span.name === 'episode').map((span) => span.attributes['cpid.episode']),
  ).toEqual([1, 2])
  expect(sent.filter((span) => span.name === 'continued in').length).toBe(2)
  expect(sent.filter((span) => span.name.startsWith('span ')).length).toBe(9)
  for (const trace of traces) {
    expect(drawTrace(sent, trace)).not.toContain('orphan')
    expect(sent.filter((span) => span.traceId === trace).length).toBeLessThanOrEqual(7)
  }
})

test('the episode of a full trace keeps its root open: what descends from it goes into both traces', async () => {
  using writer = await TestWriter.open({ linking: { maxTraceSpans: 5 } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  writer.spans(
    'looping',
    range(6).map((id) => ({ trace: id, id, cpid: cpid(1) })),
  )
  writer.mergelogs('kubectl', [{ new: cpid(2), time: 10 }])
  writer.mergelogs('merger', [{ new: cpid(3), sources: [cpid(1), cpid(2)], time: 20 }])
  writer.spans('merger', [{ trace: 9, id: 9, cpid: cpid(3), name: 'work' }])
  writer.link()
  const work = writer.sent().filter((span) => span.name === 'work')
  expect(work.map((span) => span.attributes['cpid.copy'] ?? false)).toEqual([false, true])
  expect(work[0]?.traceId).toBe(traceOf(cpid(2)))
  expect(work[1]?.traceId).not.toBe(traceOf(cpid(1)))
})

test('a trace that is never silent settles at max_open', async () => {
  using writer = await TestWriter.open({ linking: { maxOpenMs: 1_000_000 } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  for (const id of range(6)) {
    writer.spans('looping', [{ trace: id, id, cpid: cpid(1) }])
    writer.pass(200_000)
  }
  expect(writer.sent().filter((span) => span.name === 'cascade').length).toBe(1)
  expect(writer.sent().filter((span) => span.name === 'episode').length).toBe(1)
})

test('change spans deeper than 256 hang under the root', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs('kubectl', [{ new: cpid(1) }])
  writer.mergelogs(
    'chain',
    range(600).map((at) => ({ new: cpid(at + 1), sources: [cpid(at)], time: at })),
  )
  writer.link()
  const sent = writer.sent()
  const lines = drawTrace(sent, traceOf(cpid(1))).split('\n')
  expect(lines.length).toBe(601)
  const depths = lines.map((line) => (/^ */.exec(line)?.[0].length ?? 0) / 2)
  expect(Math.max(...depths)).toBe(256)
})

test('more links than a span may have are cut and counted', async () => {
  using writer = await TestWriter.open()
  writer.mergelogs(
    'kubectl',
    range(200).map((number) => ({ new: cpid(number) })),
  )
  writer.pass(300_001)
  writer.mergelogs('merger', [{ new: cpid(500), sources: range(200).map(cpid), time: 400_000 }])
  writer.link()
  const merge = writer.sent().find((span) => span.name === 'merge')
  expect(merge?.links.length).toBe(128)
  // One source is the parent.
  expect(merge?.droppedLinks).toBe(199 - 128)
  expect((merge?.attributes['cpid.sources'] as string[]).length).toBe(50)
})
