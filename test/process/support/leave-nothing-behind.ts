import { rmSync } from 'node:fs'
import { afterEach, jest } from '@jest/globals'
import { takeStartedProcesses } from '../../../lab/harness/causeway/causeway-process.ts'
import { processesWith } from '../../../lab/harness/processes/process-table.ts'

/** Whatever a test waits for gives up before this, so that the test itself says what was missing. */
const LONGEST_TEST_MS = 180_000

/** Has every test of a file end what it starts; a test that does not fails, and what it left is ended for it. */
export function leaveNothingBehind(): void {
  jest.setTimeout(LONGEST_TEST_MS)
  afterEach(leaveNothing)
}

async function leaveNothing(): Promise<void> {
  const started = takeStartedProcesses()
  const left = started.filter(({ hasEnded }) => !hasEnded)
  const folders = new Set(started.map(({ settings }) => settings.home))
  for (const causeway of left) await causeway.end('SIGKILL')
  const logs = left.map((causeway) => causeway.errors).join('\n')
  const strays: number[] = []
  for (const folder of folders) strays.push(...(await processesWith(folder)))
  for (const pid of strays) killAtOnce(pid)
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  if (left.length > 0) throw new Error(`the test left ${left.length} running, which said:\n${logs}`)
  if (strays.length > 0) throw new Error(`processes ${strays.join(', ')} outlived their Causeway`)
}

function killAtOnce(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended since.
  }
}
