import Database from 'better-sqlite3'
import { existsSync, realpathSync } from 'node:fs'
import { makePrivate } from './private-file.ts'

const WAIT_MS = 2_000

/**
 * Holds a database for one running Causeway, through a lock on a file beside it that ends with the process, however it
 * ends. A second one would link the same arrivals again and forget the first one's exporters. Throws an Error that says
 * what to do; commands that only read, prune or migrate need no hold.
 */
export function holdDatabase(path: string): Disposable {
  if (path === ':memory:') return { [Symbol.dispose]: () => undefined }
  makePrivate(lockOf(path))
  const lock = new Database(lockOf(path), { timeout: WAIT_MS })
  try {
    lock.pragma('journal_mode = MEMORY')
    lock.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    throw new Error(
      `another Causeway is running on the database ${path}; stop it, or give this one another file in ` +
        'connectors::cpid::storage::path',
      { cause: error },
    )
  }
  return { [Symbol.dispose]: () => lock.close() }
}

/** Whether a Causeway runs on a database now; the lock of one that was killed is gone with it. */
export function isDatabaseLocked(path: string): boolean {
  if (!existsSync(lockOf(path))) return false
  const lock = new Database(lockOf(path), { fileMustExist: true, timeout: 0 })
  try {
    lock.exec('BEGIN EXCLUSIVE')
    lock.exec('ROLLBACK')
    return false
  } catch {
    return true
  } finally {
    lock.close()
  }
}

/** The same file for every path that leads to the database, as with SQLite's own files beside it. */
function lockOf(path: string): string {
  return `${existsSync(path) ? realpathSync(path) : path}-lock`
}
