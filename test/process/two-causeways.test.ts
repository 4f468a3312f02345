import { linkSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { cascadeLoad } from './support/cascade-load.ts'
import { CausewayProcess, startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { exporterTo, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { expectDelivered, expectStoredOnce } from './support/expect-delivered.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { seededRandom } from '../../lab/harness/seeded-random.ts'
import { TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'

leaveNothingBehind()

test('a second Causeway on one database, by whatever path, says so and ends; the first one goes on undisturbed', async () => {
  const load = cascadeLoad(seededRandom(71), 20)
  await using backend = await TraceBackend.up()
  const settings = await freshSettings({ exporters: { otlp_grpc: exporterTo(backend.port) } })
  await using first = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  const sending = sender.sendAll(load.requests)

  const link = join(settings.home, 'another-name.db')
  symlinkSync(settings.database, link)
  for (const database of [settings.database, link]) {
    const other = await freshSettings()
    await using second = new CausewayProcess({ ...other, database })
    expect((await second.ending()).code).toBe(1)
    expect(second.complaints).toEqual([
      expect.stringMatching(/another Causeway is running on the database .*storage::path/),
    ])
  }
  const hard = join(settings.home, 'a-hard-link.db')
  linkSync(settings.database, hard)
  const other = await freshSettings()
  await using third = new CausewayProcess({ ...other, database: hard })
  expect((await third.ending()).code).toBe(1)
  expect(third.complaints).toEqual([expect.stringMatching(/has 2 names \(hard links\)/)])
  unlinkSync(hard)
  await sending
  await expectDelivered(settings, backend, load.spans)
  expect(await first.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expectStoredOnce(settings, load.spans)
})
