import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { atExit } from './at-exit.ts'

/** A new folder in `parent`, removed with everything in it when disposed of. */
export function freshDirectory(parent: string): { path: string } & Disposable {
  const path = mkdtempSync(join(parent, 'causeway-bench-'))
  return { path, ...atExit(() => rmSync(path, { recursive: true, force: true })) }
}
