import { realpathSync, statSync } from 'node:fs'
import type { Sqlite } from './open-database.ts'

/** SQLite's own code for it, which it only looks for without a write-ahead log. */
export const MOVED = 'SQLITE_READONLY_DBMOVED'

/**
 * The files of an open database. Once they were moved or deleted SQLite goes on to write into what nobody finds any more, so what is
 * committed then is lost with the process.
 */
export class OpenedFile {
  readonly #files: readonly OneFile[]

  constructor({ name, memory }: Sqlite) {
    // SQLite follows a link, and keeps its own files beside what that leads to.
    const target = memory ? '' : realpathSync(name)
    this.#files = (memory ? [] : FILES).flatMap(([ending, what]) => {
      const path = ending === '' ? name : target + ending
      const identity = identityOf(path)
      return identity === undefined ? [] : [{ path, what, identity }]
    })
  }

  /** Throws what to do if one of them is not where it was. */
  check(): void {
    for (const { path, what, identity } of this.#files)
      if (identityOf(path) !== identity) throw Object.assign(new Error(sentenceOf(what)), { code: MOVED })
  }
}

interface OneFile {
  readonly path: string
  readonly what: string
  readonly identity: string
}

const FILES = [
  ['', 'the file of the database'],
  ['-wal', 'the write-ahead log of the database (-wal)'],
  ['-shm', 'the index of the write-ahead log (-shm)'],
] as const

const sentenceOf = (what: string): string =>
  `${what} was moved, deleted or replaced while causeway runs, so that what is stored would be lost: put that very file ` +
  'back, and it goes on by itself; or restart causeway, which takes what is there then'

function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  return found && `${found.dev}:${found.ino}`
}
