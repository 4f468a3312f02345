import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from '@jest/globals'
import { BIN } from '../../lab/harness/causeway/causeway-process.ts'
import { argumentsFor, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { childrenOf, processesWith } from '../../lab/harness/processes/process-table.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { openForWriting } from '../../src/store/sqlite/open-database.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'

const ENDLESS = 'WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT count(*) FROM x'

leaveNothingBehind()

test.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
  'a query without end ends with the command that asked it, on %s',
  async (signal) => {
    const settings = await freshSettings()
    const db = openForWriting(settings.database)
    await migrate(db)
    db.close()
    const asking = spawn(
      process.execPath,
      [BIN, 'sql', ENDLESS, '--timeout', '10m', ...argumentsFor(settings)],
      {
        stdio: 'ignore',
      },
    )
    const pid = asking.pid ?? 0
    const [answering = 0] = await eventually(async () => {
      const children = await childrenOf(pid)
      expect(children).toHaveLength(1)
      return children
    })
    const ended = once(asking, 'exit')
    asking.kill(signal)
    await ended
    await eventually(async () => expect(await isAlive(answering)).toBe(false))
    expect(await processesWith(settings.home)).toEqual([])
  },
)

async function isAlive(pid: number): Promise<boolean> {
  return (await processesWith('')).includes(pid)
}
