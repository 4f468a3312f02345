import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database, { type Statement } from 'better-sqlite3'
import type {
  CommittedMark,
  WalCheckpointer,
  WalPages,
  WalSize,
  WalTruncation,
} from '../../model/store-ports.ts'
import { BUSY_TIMEOUT_MS, type Sqlite, WAL_KEPT_BYTES } from './open-database.ts'
import { isPipeOrDevice } from './private-file.ts'

/**
 * Keeps the write-ahead log short. SQLite checkpoints it, except for frames that a reader still needs. Meanwhile the log grows, and
 * afterwards it keeps its length until it is truncated.
 */
export class WalLength implements WalSize {
  readonly #db: Sqlite
  readonly #keptBytes: number

  constructor(db: Sqlite, keptBytes = WAL_KEPT_BYTES) {
    this.#db = db
    this.#keptBytes = keptBytes
  }

  bytes(): number {
    if (this.#db.memory) return 0
    return statSync(`${this.#db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  freeBytes(): number {
    if (this.#db.memory) return 0
    const { bavail, bsize } = statfsSync(dirname(resolve(this.#db.name)))
    return bavail * bsize
  }

  shorten(): WalTruncation {
    if (this.bytes() <= this.#keptBytes) return 'short'
    this.#db.pragma('busy_timeout = 0')
    try {
      const [done] = this.#db.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
      return done?.busy === 0 ? 'shortened' : 'held'
    } finally {
      this.#db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
    }
  }
}

/** Opens an existing database only to checkpoint its write-ahead log. */
export function openForCheckpoints(path: string): Sqlite {
  const db = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS })
  db.pragma('synchronous = FULL')
  db.pragma('wal_autocheckpoint = 0')
  db.pragma('cache_size = -256')
  return db
}

/** Checkpoints the write-ahead log of a database on one connection. */
export class SqliteWalCheckpointer implements WalCheckpointer {
  readonly #db: Sqlite
  readonly #ask: Statement<[], WalPages>

  constructor(db: Sqlite) {
    this.#db = db
    this.#ask = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  }

  pages(): WalPages {
    return this.#ask.get() ?? { log: 0, checkpointed: 0 }
  }

  move(): void {
    this.#db.pragma('wal_checkpoint(PASSIVE)')
  }

  moveWithCommitsFrom(pages: number): void {
    this.#db.pragma(`wal_autocheckpoint = ${pages}`)
  }
}

const PRIVATE = 0o600
/** The length to which a mark is padded, so that a shorter one fully overwrites a longer one. */
const LENGTH = 120

/** A number of arrivals known to be committed, and the database file. */
interface Mark {
  readonly arrivals: number
  readonly file: string
}

/**
 * Stores the number of committed arrivals in a file beside the database, so that the next start notices if some are missing, for example
 * because the write-ahead log was removed after a kill. A mark is bound to the database file: if that was replaced, for example by a
 * backup, the mark is ignored. It is written after commits, so it never claims too much. It is not synced: an older mark only claims less.
 */
export class CommittedArrivalsMark implements CommittedMark {
  readonly #path: string
  readonly #marked: number
  #last: Mark | undefined
  #fd: number | undefined

  /** Reads the mark. Create it before the database is opened, since opening may checkpoint the log. */
  constructor(path: string) {
    this.#path = existsSync(path) ? realpathSync(path) : path
    const mark = readMark(markOf(this.#path))
    this.#marked = mark !== undefined && mark.file === fileOf(this.#path) ? mark.arrivals : 0
  }

  /** How many committed arrivals the database lacks. */
  missing(arrivals: number): number {
    return Math.max(0, this.#marked - arrivals)
  }

  /** Records that this many arrivals are committed. */
  write(arrivals: number): void {
    try {
      const mark: Mark = { arrivals, file: fileOf(this.#path) }
      if (this.#last?.arrivals === arrivals && this.#last.file === mark.file) return
      this.#fd ??= openSync(markOf(this.#path), 'w', PRIVATE)
      writeSync(this.#fd, JSON.stringify(mark).padEnd(LENGTH), 0)
      this.#last = mark
    } catch {
      // Without a mark, missing arrivals are not noticed. The cause of the failure also shows when the database is written.
    }
  }

  /** Removes the mark when the database was closed and nothing is left in the log. */
  remove(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
    if (!existsSync(`${this.#path}-wal`)) rmSync(markOf(this.#path), { force: true })
  }
}

const markOf = (path: string): string => `${path}-mark`

function readMark(path: string): Mark | undefined {
  try {
    if (isPipeOrDevice(path)) return undefined
    const mark = JSON.parse(readFileSync(path, 'utf8')) as Partial<Mark> | null
    if (typeof mark?.arrivals !== 'number' || typeof mark.file !== 'string') return undefined
    return { arrivals: mark.arrivals, file: mark.file }
  } catch {
    return undefined
  }
}

/** Identifies the database file; changes when the log is checkpointed, and when the file is replaced. */
function fileOf(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs}`
}
