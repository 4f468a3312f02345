import { closeSync, openSync, statSync } from 'node:fs'

const PRIVATE = 0o600
const OF_OTHERS = 0o077

/** Creates an empty file that only its owner may read, unless it exists. Throws if it cannot. SQLite gives its own files the same mode. */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Whether the path leads to a pipe, socket or device. */
export function isPipeOrDevice(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && !found.isFile() && !found.isDirectory()
}

/** What to do if other users may read or write a database; undefined if they may not. */
export function whyNotPrivate(path: string): string | undefined {
  if (path === ':memory:' || process.platform === 'win32') return undefined
  const wide = [path, `${path}-wal`, `${path}-shm`, `${path}-lock`, `${path}-mark`].filter((file) => {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
    return (mode & OF_OTHERS) !== 0
  })
  if (wide.length === 0) return undefined
  return `others on this machine may open ${wide.join(', ')}; chmod 600 closes them, unless they are meant to`
}
