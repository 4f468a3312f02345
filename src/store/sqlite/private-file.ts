import { closeSync, openSync, statSync } from 'node:fs'

const PRIVATE = 0o600
const OF_OTHERS = 0o077

/** Makes an empty file that only its user may read, unless there is one: SQLite gives those beside it the same mode. */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE))
  } catch {
    // It is there, or whoever opens it says why it cannot be.
  }
}

/** What to do where others than its user may read a database, or write it; undefined where they may not. */
export function whyNotPrivate(path: string): string | undefined {
  if (path === ':memory:' || process.platform === 'win32') return undefined
  const wide = [path, `${path}-wal`, `${path}-shm`, `${path}-lock`, `${path}-mark`].filter((file) => {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
    return (mode & OF_OTHERS) !== 0
  })
  if (wide.length === 0) return undefined
  return `others on this machine may open ${wide.join(', ')}; chmod 600 closes them, unless they are meant to`
}
