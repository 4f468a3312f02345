import { expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { exporterTo, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { markerSpan } from './support/marker-span.ts'
import { ownMetric } from '../../lab/harness/causeway/scraped-metrics.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { askStored } from '../../lab/harness/causeway/stored-data.ts'
import { TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'

leaveNothingBehind()

test('a decision that cannot be built is set aside, counted and shown, and what follows is sent', async () => {
  await using backend = await TraceBackend.down()
  const settings = await freshSettings({ exporters: { 'otlp_grpc/one': exporterTo(backend.port) } })
  using sender = new RequestSender(settings.ports.grpc)
  {
    await using causeway = await startCauseway(settings)
    for (const name of ['first', 'broken', 'last']) await sender.send(markerSpan(name))
    await eventually(() =>
      expect(askStored(settings, (db) => db.prepare('SELECT count(*) FROM outbox').pluck().get())).toBe(3),
    )
    await causeway.end('SIGTERM')
  }
  const db = new Database(settings.database)
  db.exec('UPDATE outbox SET trace = 99 WHERE decision = 2')
  db.close()
  await backend.comeUp()
  await using causeway = await startCauseway(settings)
  await eventually(() => expect([...backend.names]).toEqual(['first', 'last']))
  await eventually(async () => expect(await ownMetric(settings, 'cpid_set_aside')).toBe(1))
  // It is counted by one thread and stored by another.
  await eventually(() => {
    const rows = askStored(settings, (db) =>
      db.prepare('SELECT stage, kind, item, exporter, reason FROM audit_set_aside').all(),
    )
    expect(rows).toEqual([
      {
        stage: 'sending',
        kind: 'decision',
        item: 2,
        exporter: 'otlp_grpc/one',
        reason: expect.stringContaining('is lost'),
      },
    ])
  })
  await causeway.end('SIGTERM')
})
