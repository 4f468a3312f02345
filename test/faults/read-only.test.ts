import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from '@jest/globals'
import { CausewayProcess, startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from '../process/support/leave-nothing-behind.ts'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { markerSpan } from '../process/support/marker-span.ts'
import { RequestSender } from '../../lab/harness/clients/request-sender.ts'
import { storedSpans } from '../../lab/harness/causeway/stored-data.ts'
import { holdDatabase, isDatabaseLocked } from '../../src/store/sqlite/open-database.ts'

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

test('where the folder of a database to come may only be read, it says that and why', async () => {
  const settings = await freshSettings()
  const home = dirname(settings.database)
  mkdirSync(home, { recursive: true })
  chmodSync(home, 0o555)
  await using causeway = new CausewayProcess(settings, process.execPath, BOUND)
  expect((await causeway.ending()).code).toBe(1)
  expect(causeway.complaints).toEqual([
    expect.stringMatching(
      /cannot open the database .*: EACCES: permission denied.*; give the file and its folder to the user/,
    ),
  ])
  chmodSync(home, 0o755)
})

test.each<[string, (lock: string) => void]>([
  ['may only be read', (lock) => chmodSync(lock, 0o444)],
  ['may not be opened', (lock) => chmodSync(lock, 0)],
  ['is something else', (lock) => writeFileSync(lock, 'something else'.repeat(100))],
])('where the lock %s, Causeway names it and never runs unlocked', async (_, spoil) => {
  const settings = await freshSettings()
  const first = await startCauseway(settings)
  await first.end('SIGTERM')
  spoil(`${settings.database}-lock`)
  await using causeway = new CausewayProcess(settings, process.execPath, BOUND)
  expect(await causeway.ending()).toEqual({ code: 1, signal: null })
  expect(causeway.complaints).toEqual([
    expect.stringMatching(/cannot lock the database .* by .*-lock.*; give this file to the user/),
  ])
})

test('a lock that is something else is no running Causeway for who asks', () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-lock-'))
  const path = join(folder, 'causeway.db')
  writeFileSync(path, '')
  expect(isDatabaseLocked(path)).toBe(false)
  {
    using held = holdDatabase(path)
    expect([held, isDatabaseLocked(path)]).toEqual([expect.anything(), true])
  }
  writeFileSync(`${path}-lock`, 'something else'.repeat(100))
  expect(() => isDatabaseLocked(path)).toThrow(/cannot lock the database/)
  rmSync(folder, { recursive: true })
})
