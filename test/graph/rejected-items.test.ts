import { createHash } from 'node:crypto'
import { expect, test } from '@jest/globals'
import { requestLimits, RequestTable } from '../../src/store/sqlite/arrivals.ts'
import { cpid } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'

const DAY_MS = 86_400_000

test('what was refused is there for auditors when the request is long forgotten', async () => {
  using writer = await TestWriter.open({ retention: { maxAgeMs: 30 * DAY_MS } })
  writer.mergelogs('a', [{ new: cpid(1), sources: [cpid(1)] }])
  writer.mergelogs('a', [{ new: cpid(2) }])
  writer.clock.advance(DAY_MS)
  writer.mergelogs('a', [{ new: cpid(3) }])
  for (let turn = 0; turn < 10; turn++) writer.writer.prune(1_000, { isCalendarRight: true })
  expect(writer.rows('requests')).toBe(1)
  expect(writer.db.prepare('SELECT arrived, items, message FROM audit_rejected_items').all()).toEqual([
    { arrived: '2026-01-01T00:00:00.000Z', items: 1, message: expect.stringContaining('names itself') },
  ])
})

test('neither requests nor what was refused of them grow without end', async () => {
  using writer = await TestWriter.open()
  const requests = new RequestTable(writer.db, { requests: 20, refused: 5 })
  for (let at = 0; at < 200; at++)
    requests.add(Buffer.from(`hash ${at}`), at, { rejected: at % 2, message: at % 2 === 0 ? '' : `no ${at}` })
  expect(writer.rows('requests')).toBeLessThanOrEqual(40)
  expect(requests.answerTo(Buffer.from('hash 199'))).toEqual({ rejected: 1, message: 'no 199' })
  expect(requests.answerTo(Buffer.from('hash 1'))).toBeUndefined()
  expect(writer.db.prepare('SELECT message FROM audit_rejected_items').pluck().all()).toEqual(
    [191, 193, 195, 197, 199].map((at) => `no ${at}`),
  )
})

test('long answers count for many short ones, so that neither takes more than its part of max_bytes', async () => {
  const MAX_BYTES = 20 * 1024 * 1024
  using writer = await TestWriter.open()
  const requests = new RequestTable(writer.db, requestLimits({ maxBytes: MAX_BYTES }))
  const add = (at: number, message: string): void =>
    requests.add(createHash('md5').update(String(at)).digest(), at, { rejected: 1, message })
  const bytesOf = (table: string): number =>
    writer.db
      .prepare<[string], number>('SELECT sum(pgsize) FROM dbstat WHERE name LIKE ?')
      .pluck()
      .get(`%${table}%`)!
  for (let at = 1; at <= 3_000; at++) add(at, 'a short reason')
  expect(writer.rows('requests')).toBe(3_000)
  for (let at = 3_001; at <= 6_000; at++) add(at, `a long reason ${'x'.repeat(4_000)}`)
  expect(bytesOf('requests')).toBeLessThan(MAX_BYTES / 15)
  expect(bytesOf('rejected_items')).toBeLessThan(MAX_BYTES / 30)
  expect(requests.answerTo(createHash('md5').update('6000').digest())).toMatchObject({ rejected: 1 })
})

test('those of a time with a larger limit go with the next ones, not all at once', async () => {
  using writer = await TestWriter.open()
  const add = (table: RequestTable, at: number): void =>
    table.add(Buffer.from(`hash ${at}`), at, { rejected: 0, message: '' })
  const large = new RequestTable(writer.db, { requests: 10_000, refused: 5 })
  for (let at = 0; at < 2_000; at++) add(large, at)
  const small = new RequestTable(writer.db, { requests: 20, refused: 5 })
  const counts: number[] = []
  for (let at = 2_000; at < 4_100; at++) {
    add(small, at)
    counts.push(writer.rows('requests'))
  }
  counts.forEach((count, at) => expect((counts[at - 1] ?? 2_000) - count).toBeLessThanOrEqual(40))
  expect(counts.at(-1)).toBeLessThanOrEqual(40)
})
