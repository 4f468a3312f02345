import { expect, test } from '@jest/globals'
import { cpid } from '../../support/otlp-requests.ts'
import { TestWriter, type TestSettings } from '../../support/test-writer.ts'
import { exporterAt, liveCpids, pruneAll } from './stored.ts'

const SETTLED = 300_001
const HOUR = 3_600_000

/** Two settled changes, of which at most one may stay. */
async function twoSettled(settings: TestSettings = {}): Promise<TestWriter> {
  const writer = await TestWriter.open({ retention: { maxCpids: 1 }, ...settings })
  writer.mergelogs('kubectl', [
    { new: cpid(1), time: 1 },
    { new: cpid(2), time: 2 },
  ])
  writer.pass(SETTLED)
  return writer
}

test('a span that is stored but not linked keeps its CPID, until it is linked and its episode settled', async () => {
  using writer = await twoSettled()
  writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(1) }])
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([1])
  expect(writer.rows('spans')).toBe(1)
  writer.link()
  expect(writer.sent().map(({ name }) => name)).toContain('span 11')
  writer.mergelogs('kubectl', [{ new: cpid(3), time: 400_000 }])
  writer.pass(SETTLED)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([3])
})

test('a log record that is stored but not linked keeps its CPID', async () => {
  using writer = await twoSettled({ retention: { maxCpids: 1 }, linking: { logs: true } })
  const { logs } = writer.writer.lastDecisions
  writer.keepExporters('logs', ['otlp_grpc/loki'], logs)
  writer.logs('controller', [{ body: 'waits for its turn', cpid: cpid(1) }])
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([1])
  const kept = writer.rows('logs WHERE length(event_name) = 0')
  expect(kept).toBe(1)
})

test('max_bytes takes what is not linked too, and counts it', async () => {
  using writer = await TestWriter.open({ retention: { maxBytes: 1 } })
  writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(1) }])
  expect(writer.writer.prune(1_000)).toMatchObject({ cpids: 1, spans: 1, unsettled: 1 })
  writer.link()
  expect(writer.sent()).toEqual([])
})

test('in passthrough what a dead backend has not received stays, whatever was sent of its trace', async () => {
  using writer = await twoSettled({ retention: { maxCpids: 1 }, linking: { mode: 'passthrough' } })
  exporterAt(writer)
  writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(1) }])
  writer.pass(SETTLED)
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([1])
  expect(writer.sent().at(-1)).toMatchObject({ name: 'span 11' })
  exporterAt(writer)
  writer.mergelogs('kubectl', [{ new: cpid(3), time: 400_000 }])
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([3])
})

test('a span decided before its neighbours that are not sent does not go with its CPID either', async () => {
  using writer = await twoSettled({ retention: { maxCpids: 1 }, linking: { mode: 'passthrough' } })
  // One waits for its parent, and leaves after one that came later.
  writer.spans('controller', [{ trace: 1, id: 11, parent: 10, name: 'waits' }])
  writer.spans('controller', [{ trace: 2, id: 21, cpid: cpid(1) }])
  writer.link()
  exporterAt(writer)
  writer.spans('controller', [{ trace: 1, id: 10, cpid: cpid(1), name: 'parent' }])
  writer.link()
  exporterAt(writer, writer.writer.progress.lastDecision - 1)
  expect(writer.sent().at(-1)).toMatchObject({ name: 'waits' })
  pruneAll(writer)
  expect(liveCpids(writer)).toEqual([1])
})

test('in passthrough age counts from the last span of a change', async () => {
  using writer = await TestWriter.open({
    retention: { maxAgeMs: HOUR },
    linking: { mode: 'passthrough' },
  })
  writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2), sources: [cpid(1)] }])
  writer.pass(HOUR - 600_000)
  writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(2) }])
  writer.link()
  pruneAll(writer)
  writer.pass(1_200_000)
  expect(pruneAll(writer)).toBe(0)
  writer.pass(HOUR)
  expect(pruneAll(writer)).toBe(2)
})

test('in links age counts from the last activity of any CPID that would go with the root', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: HOUR }, linking: { mode: 'links' } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2), sources: [cpid(1)] }])
  writer.pass(HOUR - 600_000)
  writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(2) }])
  writer.pass(1_200_000)
  expect(pruneAll(writer)).toBe(0)
  writer.pass(HOUR)
  expect(pruneAll(writer)).toBe(2)
})

test('in links a cascade stays while a later change of it is not sent', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: HOUR }, linking: { mode: 'links' } })
  writer.mergelogs('kubectl', [{ new: cpid(1) }, { new: cpid(2), sources: [cpid(1)] }])
  writer.pass(SETTLED)
  exporterAt(writer)
  writer.spans('controller', [{ trace: 1, id: 11, cpid: cpid(2) }])
  writer.pass(2 * HOUR)
  expect(pruneAll(writer)).toBe(0)
  exporterAt(writer)
  expect(pruneAll(writer)).toBe(2)
})

/** A span that waits for its parent, and then much that is settled. */
async function oneWaiting(): Promise<TestWriter> {
  const writer = await TestWriter.open({ linking: { waitMs: 1_000_000, settleAfterMs: 2_000 } })
  writer.spans('kubelet', [{ trace: 9_000, id: 1, parent: 2, start: -1_000, name: 'waits' }])
  const payload = 'x'.repeat(2_000)
  for (let id = 1; id <= 100; id++) {
    writer.mergelogs('kubectl', [{ new: cpid(id), time: 1_000 + id }])
    writer.spans('controller', [
      { trace: id, id, cpid: cpid(id), start: 1_000 + id, attributes: { payload } },
    ])
  }
  writer.pass(2_001)
  return writer
}

test('max_bytes leaves a span that waits for its parent while there is something else to take', async () => {
  using writer = await oneWaiting()
  using less = writer.reopened({
    linking: { waitMs: 1_000_000, settleAfterMs: 2_000 },
    retention: { maxBytes: writer.writer.gauges().usedBytes - 100_000 },
  })
  const cpids = pruneAll(less)
  expect(cpids).toBeGreaterThan(10)
  expect(cpids).toBeLessThan(100)
  expect(less.rows('waiting')).toBe(1)
  less.spans('kubelet', [{ trace: 9_000, id: 2, cpid: cpid(500), name: 'parent' }])
  less.pass(1_000_000)
  expect(less.sent().map(({ name }) => name)).toContain('waits')
})

test('when max_bytes leaves no choice, a span that waits for its parent goes and is counted', async () => {
  using writer = await oneWaiting()
  using less = writer.reopened({ retention: { maxBytes: 1 } })
  expect(less.writer.prune(10_000)).toMatchObject({ spans: 101, cpids: 100, unsettled: 0, unsent: 1 })
  expect(less.rows('waiting')).toBe(0)
})

test('spans without a CPID that a dead backend has not received go when max_bytes forces it, and are counted', async () => {
  using writer = await TestWriter.open({ retention: { maxBytes: 200_000, maxAgeMs: HOUR } })
  exporterAt(writer, 0)
  const payload = 'x'.repeat(1_000)
  for (let id = 1; id <= 500; id++) writer.spans('kubelet', [{ trace: id, id, attributes: { payload } }])
  writer.link()
  const before = writer.writer.gauges().usedBytes
  expect(before).toBeGreaterThan(200_000)
  const { unsent, spans } = writer.writer.prune(10_000)
  expect(unsent).toBe(spans)
  expect(spans).toBeGreaterThan(100)
  expect(writer.writer.gauges().usedBytes).toBeLessThan(before - 100_000)
})
