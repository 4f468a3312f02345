import { expect } from '@jest/globals'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Fails unless the file says the same. Rewrites it instead where jest updates its snapshots. */
export function expectGolden(file: string, value: unknown): void {
  const path = fileURLToPath(new URL(`../golden/${file}`, import.meta.url))
  const mode = updateMode()
  if (mode === 'all' || (mode === 'new' && !existsSync(path))) {
    writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`)
  }
  expect(value).toEqual(JSON.parse(readFileSync(path, 'utf8')))
}

/** What `-u` and `--ci` ask for; jest has no other way to tell. */
function updateMode(): string {
  const { snapshotState } = expect.getState() as unknown as { snapshotState: { _updateSnapshot: string } }
  return snapshotState._updateSnapshot
}
