import { statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { LogLength, LogShortened } from '../../model/ports/write-ahead-log.ts'
import { BUSY_TIMEOUT_MS, WAL_KEPT_BYTES, type Sqlite } from '../open-database.ts'

/**
 * Keeps the write-ahead log short. SQLite moves it into the database by itself, except what someone still reads an older
 * state than; while that lasts the log grows, and it keeps its length until someone shortens it.
 */
export class WalKeeper implements LogLength {
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

  shorten(): LogShortened {
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
