import { expect, test } from '@jest/globals'
import { RequestTable } from '../../src/sqlite/request-table.ts'
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
  expect(writer.db.prepare('SELECT count(*) FROM requests').pluck().get()).toBe(1)
  expect(writer.db.prepare('SELECT arrived, items, message FROM audit_rejected_items').all()).toEqual([
    { arrived: '2026-01-01T00:00:00.000Z', items: 1, message: expect.stringContaining('names itself') },
  ])
})

test('neither requests nor what was refused of them grow without end', async () => {
  using writer = await TestWriter.open()
  const requests = new RequestTable(writer.db, { requests: 20, refused: 5 })
  for (let at = 0; at < 200; at++)
    requests.add(Buffer.from(`hash ${at}`), at, { rejected: at % 2, message: at % 2 === 0 ? '' : `no ${at}` })
  expect(writer.db.prepare('SELECT count(*) FROM requests').pluck().get()).toBeLessThanOrEqual(40)
  expect(requests.answerTo(Buffer.from('hash 199'))).toEqual({ rejected: 1, message: 'no 199' })
  expect(requests.answerTo(Buffer.from('hash 1'))).toBeUndefined()
  expect(writer.db.prepare('SELECT message FROM audit_rejected_items').pluck().all()).toEqual(
    [191, 193, 195, 197, 199].map((at) => `no ${at}`),
  )
})
