import { expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import { cpid, mergelogsRequest, spansRequest } from '../support/otlp-requests.ts'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { freshSettings, type CausewaySettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { storedProgress } from '../../lab/harness/causeway/stored-data.ts'

leaveNothingBehind()

const LAST = [
  { signal: 'traces' as const, bytes: spansRequest('controller', [{ trace: 1, id: 1, cpid: cpid(1) }]) },
  { signal: 'logs' as const, bytes: mergelogsRequest('controller', [{ new: cpid(1) }]) },
]

test('whether a span or a log record came last, once it is linked nothing lags and the database is left alone', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  for (const request of LAST) {
    await sender.send(request)
    await eventually(() => {
      const { linkedArrival, lastArrival } = storedProgress(settings)
      expect({ after: request.signal, linkedArrival }).toEqual({
        after: request.signal,
        linkedArrival: lastArrival,
      })
    })
    await expectLeftAlone(settings)
  }
  await causeway.end('SIGTERM')
})

/** Waits until nobody has written to the database from one look at it to the next. */
async function expectLeftAlone({ database }: CausewaySettings): Promise<void> {
  const db = new Database(database, { readonly: true })
  let before: unknown
  await eventually(() => {
    const now = db.pragma('data_version', { simple: true })
    const isSame = now === before
    before = now
    expect(isSame).toBe(true)
  })
  db.close()
}
