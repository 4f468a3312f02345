import { expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import { leaveNothingBehind, startCauseway } from './support/causeway-process.ts'
import { exporterTo, freshSettings } from './support/causeway-settings.ts'
import { eventually } from './support/eventually.ts'
import { markerSpan } from './support/marker-span.ts'
import { ownMetric } from './support/own-metrics.ts'
import { RequestSender } from './support/request-sender.ts'
import { askStored } from './support/stored-data.ts'
import { TraceBackend } from './support/trace-backend.ts'

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
  await causeway.end('SIGTERM')
})
