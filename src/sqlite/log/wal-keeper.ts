import { statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { BUSY_TIMEOUT_MS, WAL_KEPT_BYTES, type Sqlite } from '../open-database.ts'

/** What became of the write-ahead log: nothing to do, it was shortened, or a reader keeps it from that. */
export type WalState = 'short' | 'shortened' | 'held'

/**
 * Keeps the write-ahead log short. SQLite moves it into the database by itself, except what someone still reads an older
 * state than; while that lasts the log grows, and it keeps its length until someone shortens it.
 */
export class WalKeeper {
  readonly #db: Sqlite
  readonly #keptBytes: number

  constructor(db: Sqlite, keptBytes = WAL_KEPT_BYTES) {
    this.#db = db
    this.#keptBytes = keptBytes
  }

  /** How long the log is; 0 for a database in memory. */
  bytes(): number {
    if (this.#db.memory) return 0
    return statSync(`${this.#db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0
  }

  /** What is free on its disk for whoever runs this, in bytes. */
  freeBytes(): number {
    if (this.#db.memory) return 0
    const { bavail, bsize } = statfsSync(dirname(resolve(this.#db.name)))
    return bavail * bsize
  }

  /** Shortens a log that has grown long. Waits for no reader, since senders wait for the writer. */
  shorten(): WalState {
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
