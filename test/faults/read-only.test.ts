import { chmodSync, readFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from '@jest/globals'
import { CausewayProcess, startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from '../process/support/leave-nothing-behind.ts'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { markerSpan } from '../process/support/marker-span.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { storedSpans } from '../../lab/harness/causeway/stored-data.ts'

/** Permissions bind root only once it has given up to go past them. */
const BOUND =
  process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override', '--inh-caps=-dac_override'] : []

leaveNothingBehind()

test.each([
  { what: 'the file', file: 0o444, folder: 0o755 },
  { what: 'the file and its folder', file: 0o444, folder: 0o555 },
  { what: 'the folder', file: 0o644, folder: 0o555 },
])('where $what may only be read, it says so, changes nothing and ends', async ({ file, folder }) => {
  const settings = await freshSettings()
  const first = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.send(markerSpan('before'))
  await first.end('SIGTERM')
  const before = readFileSync(settings.database)
  const stored = storedSpans(settings)
  for (const beside of ['-wal', '-shm', '-lock']) rmSync(`${settings.database}${beside}`, { force: true })

  const home = dirname(settings.database)
  chmodSync(settings.database, file)
  chmodSync(home, folder)
  await using causeway = new CausewayProcess(settings, process.execPath, BOUND)
  expect((await causeway.ending()).code).toBe(1)
  expect(causeway.complaints).toEqual([
    expect.stringMatching(/cannot open the database .*connectors::cpid::storage::path.*(give|check that)/),
  ])
  chmodSync(home, 0o755)
  chmodSync(settings.database, 0o644)
  expect(readFileSync(settings.database).equals(before)).toBe(true)
  expect(storedSpans(settings)).toEqual(stored)
})
