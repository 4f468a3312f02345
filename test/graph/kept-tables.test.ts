import { expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter, type TestSettings } from '../support/test-writer.ts'

const DAY = 24 * 3_600_000
const MIB = 1024 * 1024

const rowsOf = (writer: TestWriter, table: string): unknown => writer.rows(table)

function pruneAll(writer: TestWriter): void {
  while (writer.writer.prune(1_000, { isCalendarRight: true }).more);
}

/** As many mergelogs that name themselves as sources, which is refused, as a faulty sender may send. */
function refuse(writer: TestWriter, count: number): void {
  for (let at = 0; at < count; at += 1_000) {
    const mergelogs = Array.from({ length: 1_000 }, (_, i) => {
      const id = cpid(1_000_000 + at + i)
      return { new: id, sources: [id] }
    })
    writer.mergelogs('faulty', mergelogs)
  }
}

const opened = (settings: TestSettings): Promise<TestWriter> => TestWriter.open(settings)

test('12,000 refused mergelogs crowd nothing out, and the newest of them are remembered', async () => {
  using writer = await opened({ retention: { maxBytes: 2 * MIB } })
  for (let at = 1; at <= 20; at++) {
    writer.mergelogs('controller', [{ new: cpid(at) }])
    writer.spans('controller', [{ trace: at, id: at, cpid: cpid(at) }])
  }
  writer.link()
  refuse(writer, 12_000)
  pruneAll(writer)
  expect(rowsOf(writer, 'spans')).toBe(20)
  expect(rowsOf(writer, 'rejected_mergelogs')).toBe(50)
  const newest = writer.db.prepare('SELECT cpid FROM audit_rejected_mergelogs').pluck().all().at(-1)
  expect(newest).toBe(cpid(1_000_000 + 11_999))
  expect(writer.writer.gauges().usedBytes).toBeLessThan(2 * MIB)
})

test('refused mergelogs go with their age, and those of a larger limit with the next turns', async () => {
  using writer = await opened({ retention: { maxAgeMs: DAY } })
  refuse(writer, 3_000)
  const lower = writer.reopened({ retention: { maxBytes: MIB } })
  pruneAll(lower)
  expect(rowsOf(writer, 'rejected_mergelogs')).toBe(50)
  writer.clock.advance(2 * DAY)
  pruneAll(writer.reopened())
  expect(rowsOf(writer, 'rejected_mergelogs')).toBe(0)
})

test('parents and writers that never come are awaited no longer than that is of use', async () => {
  using writer = await opened({ retention: { maxAgeMs: DAY } })
  for (let at = 1; at <= 1_500; at++) {
    const observed = [`v1/pods/default/web-${at % 3}?rv=${at}`]
    const attributes = { 'cpid.observed': observed }
    writer.spans('controller', [
      { trace: at, id: at, parent: 9_000 + at, cpid: cpid(1) },
      { trace: at, id: 50_000 + at, cpid: cpid(1), attributes },
    ])
    writer.spans('other', [{ trace: at, id: 20_000 + at, parent: 30_000 + at }])
  }
  writer.mergelogs('controller', [{ new: cpid(1) }])
  writer.pass(11_000)
  expect(rowsOf(writer, 'awaited_parents')).toBeGreaterThanOrEqual(3_000)
  expect(rowsOf(writer, 'awaited_writers')).toBe(1_500)
  expect(rowsOf(writer, 'awaited_versions')).toBe(1_500)
  // Nobody waits for a writer any more; since when it is missed is of use while a span that observed it is there.
  for (let turn = 0; turn < 5; turn++) pruneAll(writer)
  expect(rowsOf(writer, 'awaited_writers')).toBe(0)
  expect(rowsOf(writer, 'awaited_versions')).toBe(1_500)
  expect(rowsOf(writer, 'awaited_parents')).toBeGreaterThanOrEqual(3_000)
  writer.pass(400_000)
  writer.clock.advance(2 * DAY)
  for (let turn = 0; turn < 5; turn++) pruneAll(writer)
  for (const table of ['spans', 'awaited_parents', 'awaited_versions', 'awaited_writers'])
    expect([table, rowsOf(writer, table)]).toEqual([table, 0])
})

test('what was set aside is forgotten after a week', async () => {
  using writer = await opened({})
  const aside = { kind: 'span', item: 1, cpid: undefined, exporter: undefined, reason: 'it broke' }
  writer.writer.setAside([{ stage: 'linking', ...aside }])
  writer.clock.advance(6 * DAY)
  pruneAll(writer)
  expect(writer.writer.gauges().setAside).toBe(1)
  writer.clock.advance(2 * DAY)
  pruneAll(writer)
  expect(writer.writer.gauges().setAside).toBe(0)
})
