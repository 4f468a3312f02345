import { expect, test } from '@jest/globals'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const DAY = 24 * 3_600_000

const rowsOf = (writer: TestWriter, table: string): unknown => writer.rows(table)

function pruneAll(writer: TestWriter): void {
  for (let turn = 0; turn < 5; turn++) while (writer.writer.prune(1_000, { isCalendarRight: true }).more);
}

test('a parent that never came is awaited no longer than max_age, though its trace goes on', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: DAY } })
  const send = (id: number, parent?: number): void => {
    writer.spans('controller', [{ trace: 1, id, cpid: cpid(1), ...(parent !== undefined && { parent }) }])
    writer.pass(11_000)
  }
  writer.mergelogs('controller', [{ new: cpid(1) }])
  send(1, 9)
  pruneAll(writer)
  expect(rowsOf(writer, 'awaited_parents')).toBe(1)
  for (let half = 0; half < 3; half++) {
    writer.pass(DAY / 2)
    send(2 + half)
  }
  pruneAll(writer)
  expect(rowsOf(writer, 'spans')).toBe(4)
  expect(rowsOf(writer, 'awaited_parents')).toBe(0)
})

test('parents and versions are awaited no longer than the spans are there that name them', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 365 * DAY, maxCpids: 1 } })
  for (const at of [1, 2, 3]) {
    writer.mergelogs('controller', [{ new: cpid(at) }])
    const attributes = { 'cpid.observed': [`v1/pods/default/web-${at}?rv=${at}`] }
    writer.spans('controller', [
      { trace: at, id: at, parent: 9, cpid: cpid(at) },
      { trace: at, id: 50 + at, cpid: cpid(at), attributes },
    ])
  }
  writer.pass(11_000)
  expect(rowsOf(writer, 'awaited_parents')).toBe(3)
  expect(rowsOf(writer, 'awaited_versions')).toBe(3)
  writer.pass(400_000)
  pruneAll(writer)
  expect(rowsOf(writer, 'spans')).toBe(2)
  expect(rowsOf(writer, 'awaited_parents')).toBe(1)
  expect(rowsOf(writer, 'awaited_versions')).toBe(1)
})

test('rows that an earlier version left behind go, with no limit set', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 0 } })
  writer.db.exec(`INSERT INTO awaited_parents (origin, span_id, trace, since_ms) VALUES (77, 1, 1, 0);
    INSERT INTO awaited_versions (object, version, since_ms) VALUES (77, 1, 0)`)
  pruneAll(writer)
  expect(rowsOf(writer, 'awaited_parents')).toBe(0)
  expect(rowsOf(writer, 'awaited_versions')).toBe(0)
})
