import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import Database from 'better-sqlite3'
import { isDamage, type Sqlite } from '../../src/store/sqlite/open-database.ts'

const HEADER_BYTES = 100
const PAGE_BYTES = 4096
/** Where a header has the number of pages, and the first free page and how many there are. */
const PAGE_COUNT_AT = 28
const FREE_PAGES_AT = 32

interface OpenedDamaged extends Disposable {
  readonly db: Sqlite
  /** Its header was damaged and was made anew, in a copy. */
  readonly isHeaderNew: boolean
}

/**
 * Opens a damaged database to read what can be read; the file itself stays as it is. One whose header is damaged is
 * copied to `copy`, and given the header of `sound`, a database of the same making. Throws what is beyond that.
 */
export function openDamaged(path: string, sound: string, copy: string): OpenedDamaged {
  const opened = tryOpen(path)
  if (opened !== undefined) return { db: opened, isHeaderNew: false, [Symbol.dispose]: () => opened.close() }
  const files = ['', '-wal', '-shm'].map((end) => `${copy}${end}`)
  const remove = (): void => {
    for (const file of files) rmSync(file, { force: true })
  }
  copyFileSync(path, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  if (existsSync(`${path}-wal`)) copyFileSync(`${path}-wal`, `${copy}-wal`)
  writeHeader(copy, sound)
  const db = tryOpen(copy)
  if (db === undefined) {
    remove()
    throw new Error(
      `${path} is damaged where it says what is in it, or is no database of Causeway: restore a backup, ` +
        'or try .recover in the sqlite3 shell',
    )
  }
  return {
    db,
    isHeaderNew: true,
    [Symbol.dispose]: () => {
      db.close()
      remove()
    },
  }
}

/** The database, where its tables can be told; undefined where they cannot. */
function tryOpen(path: string): Sqlite | undefined {
  let db: Sqlite | undefined
  try {
    db = new Database(path, { readonly: true, fileMustExist: true })
    const found = db.prepare(
      "SELECT count(*) FROM sqlite_schema WHERE name IN ('spans', 'cpids', 'mergelogs')",
    )
    if (found.pluck().get() === 3) return db
  } catch (error) {
    if (!isDamage(error)) throw error
  }
  db?.close()
  return undefined
}

function writeHeader(to: string, sound: string): void {
  const header = Buffer.alloc(HEADER_BYTES)
  const from = openSync(sound, 'r')
  readSync(from, header, 0, HEADER_BYTES, 0)
  closeSync(from)
  header.writeUInt32BE(Math.floor(statSync(to).size / PAGE_BYTES), PAGE_COUNT_AT)
  // What was free stays unused: nothing is written here.
  header.fill(0, FREE_PAGES_AT, FREE_PAGES_AT + 8)
  const file = openSync(to, 'r+')
  writeSync(file, header, 0, HEADER_BYTES, 0)
  closeSync(file)
}
