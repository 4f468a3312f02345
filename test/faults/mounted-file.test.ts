import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { CausewayProcess } from '../../lab/harness/causeway/causeway-process.ts'
import { type CausewaySettings, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { leaveNothingBehind } from '../process/support/leave-nothing-behind.ts'

const [UNSHARE, ...OWN_MOUNTS] = ['unshare', '--user', '--map-root-user', '--mount'] as const
/** Some container engines allow no mounts inside. */
const mayMount = spawnSync(UNSHARE, [...OWN_MOUNTS, 'mount', '--bind', tmpdir(), tmpdir()]).status === 0
const whereItMayMount = mayMount ? test : test.skip

/** A Causeway for which a volume, or its only file, is mounted where the database is. */
function mounted(settings: CausewaySettings, what: 'file' | 'folder'): CausewayProcess {
  const paths = what === 'file' ? '"$1/a.db" "$2"' : '"$1" "$(dirname "$2")"'
  const script = `mkdir -p "$1" "$(dirname "$2")" && touch "$1/a.db" "$2" && mount --bind ${paths} && shift 2 && exec "$@"`
  const volume = join(settings.home, 'volume')
  const through = [UNSHARE, ...OWN_MOUNTS, 'sh', '-c', script, 'sh', volume, settings.database]
  return new CausewayProcess(settings, process.execPath, through)
}

leaveNothingBehind()

whereItMayMount('a database that is mounted as a single file is not opened', async () => {
  const settings = await freshSettings()
  settings.database = join(settings.home, 'in a\\folder', 'causeway.db')
  await using causeway = mounted(settings, 'file')
  expect((await causeway.ending()).code).toBe(1)
  expect(causeway.complaints).toEqual([
    expect.stringMatching(/^Error: the database .* is mounted as a single file.*; mount its folder$/),
  ])
  expect(existsSync(`${settings.database}-wal`)).toBe(false)
})

whereItMayMount('a database in a folder that is mounted is opened', async () => {
  const settings = await freshSettings()
  await using causeway = mounted(settings, 'folder')
  await causeway.ready()
  expect((await causeway.end('SIGTERM')).code).toBe(0)
  expect(existsSync(join(settings.home, 'volume', 'causeway.db'))).toBe(true)
})
