import Database from 'better-sqlite3'
import { expect, test } from '@jest/globals'
import { CausewayProcess, startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { healthAnswer } from '../../lab/harness/causeway/health-answer.ts'
import { ownMetric } from '../../lab/harness/causeway/scraped-metrics.ts'
import { storedSpans } from '../../lab/harness/causeway/stored-data.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { leaveNothingBehind } from '../process/support/leave-nothing-behind.ts'
import { markerSpan } from '../process/support/marker-span.ts'

leaveNothingBehind()

/** What a shell of SQLite does that is left in the middle of a transaction. */
function lock(path: string): Disposable & { db: Database.Database } {
  const db = new Database(path)
  db.exec('BEGIN IMMEDIATE')
  return { db, [Symbol.dispose]: () => db.close() }
}

const LOCKED = /another program holds the write lock of the database .*end that program, or its transaction/

test('while another program is in a transaction, it is said what to do, and afterwards all goes on', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.send(markerSpan('before'))
  using locked = lock(settings.database)
  const sent = Promise.all([sender.send(markerSpan('meanwhile')), sender.send(markerSpan('meanwhile, too'))])
  await eventually(async () => {
    expect(await healthAnswer(settings)).toEqual({ code: 503, reasons: expect.stringMatching(LOCKED) })
  }, 30_000)
  expect(causeway.errors).toMatch(LOCKED)
  expect(await ownMetric(settings, 'cpid_storage_fault')).toBe(1)

  locked.db.exec('ROLLBACK')
  await sent
  await eventually(async () => expect((await healthAnswer(settings)).code).toBe(200), 30_000)
  expect(await ownMetric(settings, 'cpid_storage_fault')).toBe(0)
  expect(storedSpans(settings)).toHaveLength(3)
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
})

test('a database that another program writes is not opened, and it is said what to do', async () => {
  const settings = await freshSettings()
  await (await startCauseway(settings)).end('SIGTERM')
  using locked = lock(settings.database)
  expect(locked.db.inTransaction).toBe(true)
  await using causeway = new CausewayProcess(settings)
  expect(await causeway.ending()).toEqual({ code: 1, signal: null })
  expect(causeway.complaints).toEqual([
    expect.stringMatching(
      /cannot open the database .*another program holds its write lock: end that program/,
    ),
  ])
})
