import { realpathSync, type Stats, statSync } from 'node:fs'
import type { WalPages } from '../../model/store-ports.ts'
import type { Sqlite } from './open-database.ts'

/** SQLite's own code for it. SQLite checks for that only without a write-ahead log. */
export const MOVED = 'SQLITE_READONLY_DBMOVED'
const CUT_OFF = 'SQLITE_CORRUPT_CUTOFF'

/** The header sizes of the write-ahead log and of each frame in it. */
const WAL_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/**
 * The files of an open database. If they are moved or deleted, SQLite continues to write into files that nobody finds any more, so later
 * commits are lost with the process. If they are truncated, it writes beyond a gap, and the next start finds the database damaged.
 */
export class OpenedFile {
  readonly #files: readonly OneFile[]
  readonly #lengths: Lengths

  constructor(db: Sqlite) {
    const { name, memory } = db
    // SQLite follows a link, and keeps its own files beside the target.
    const target = memory ? '' : realpathSync(name)
    this.#files = (memory ? [] : FILES).flatMap(([ending, what]) => {
      const path = ending === '' ? name : target + ending
      const found = look(path)
      return found === undefined ? [] : [{ path, ending, what, identity: identityOf(found) }]
    })
    this.#lengths = new Lengths(db)
    this.checkLengths()
  }

  /** Throws an error that says what to do if a file was moved or deleted. */
  check(): void {
    for (const file of this.#files)
      if (sizeOf(file) === undefined) throw Object.assign(new Error(sentenceOf(file.what)), { code: MOVED })
  }

  /** Throws if a file is too short. Missing files are skipped. Call it outside transactions. */
  checkLengths(): void {
    for (const file of this.#files) {
      if (file.ending === '-shm') continue
      const bytes = sizeOf(file)
      if (bytes === undefined || this.#isLongEnough(file, bytes)) continue
      throw Object.assign(new Error(`${file.what} was cut off while causeway runs`), { code: CUT_OFF })
    }
  }

  #isLongEnough(file: OneFile, bytes: number): boolean {
    if (file.ending === '') return this.#lengths.mayBe(bytes)
    const least = this.#lengths.leastOfLog()
    // Another process may have appended frames since the first look.
    return bytes >= least || (sizeOf(file) ?? least) >= least
  }
}

/** The expected lengths of the files. */
class Lengths {
  readonly #pageBytes: number
  /** Changes when another connection commits. */
  readonly #readVersion
  readonly #countPages
  readonly #askLog
  #version: number | undefined
  #bytes = 0

  constructor(db: Sqlite) {
    this.#pageBytes = db.pragma('page_size', { simple: true }) as number
    this.#readVersion = db.prepare<[], number>('PRAGMA data_version').pluck()
    this.#countPages = db.prepare<[], number>('PRAGMA page_count').pluck()
    this.#askLog = db.prepare<[], WalPages>('PRAGMA wal_checkpoint(NOOP)')
  }

  /** Whether the database file may have this length. Only a VACUUM on another connection shortens it. */
  mayBe(bytes: number): boolean {
    if (bytes === this.#bytes) return true
    const version = this.#readVersion.get()
    if (bytes < this.#bytes && version === this.#version) return false
    this.#version = version
    this.#bytes = Math.min(bytes, (this.#countPages.get() ?? 0) * this.#pageBytes)
    return true
  }

  /** The least length of the write-ahead log that holds all frames SQLite counts in it. */
  leastOfLog(): number {
    const { log } = this.#askLog.get() ?? { log: 0 }
    return log > 0 ? WAL_HEADER_BYTES + log * (FRAME_HEADER_BYTES + this.#pageBytes) : 0
  }
}

interface OneFile {
  readonly path: string
  readonly ending: '' | '-wal' | '-shm'
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

function look(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false })
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`
}

/** Undefined if the file was moved or deleted. */
function sizeOf({ path, identity }: OneFile): number | undefined {
  const found = look(path)
  return found !== undefined && identityOf(found) === identity ? found.size : undefined
}
