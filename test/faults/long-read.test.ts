import { expect, test } from '@jest/globals'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { doctorFindings } from '../../lab/harness/causeway/doctor-findings.ts'
import { ownMetric } from '../../lab/harness/causeway/scraped-metrics.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { openForReading, WAL_KEPT_BYTES } from '../../src/store/sqlite/open-database.ts'
import { leaveNothingBehind } from '../process/support/leave-nothing-behind.ts'
import { spansRequest } from '../support/otlp-requests.ts'

const WARNED_BYTES = 256 * 1024 * 1024
const REQUEST_BYTES = 3_000_000

leaveNothingBehind()

test('while someone reads without an end, storing goes on and it is said; afterwards the write-ahead log gets short', async () => {
  const settings = await freshSettings()
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  const reader = openForReading(settings.database)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM spans').get()

  const payload = 'x'.repeat(REQUEST_BYTES)
  let stored = 0
  for (; stored * REQUEST_BYTES < WARNED_BYTES; stored++) {
    const bytes = spansRequest('controller', [{ trace: stored + 1, id: 1, attributes: { payload } }])
    await sender.send({ signal: 'traces', bytes })
  }
  await eventually(async () => {
    expect(await ownMetric(settings, 'cpid_storage_wal_bytes')).toBeGreaterThan(WARNED_BYTES)
    expect(causeway.errors).toMatch(
      /write-ahead log of the database has grown past 256 MiB.*end that program/,
    )
  })
  const findings = await doctorFindings(settings)
  expect(findings).toContainEqual(expect.stringMatching(/^warn: the write-ahead log is \d+ MiB long/))
  expect(reader.prepare('SELECT count(*) FROM spans').pluck().get()).toBe(0)

  reader.close()
  await eventually(async () => {
    expect(await ownMetric(settings, 'cpid_storage_wal_bytes')).toBeLessThanOrEqual(WAL_KEPT_BYTES)
  })
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
})
