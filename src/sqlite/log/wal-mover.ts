import Database from 'better-sqlite3'
import type { Statement } from 'better-sqlite3'
import type { LogMover, LogPages } from '../../model/ports/write-ahead-log.ts'
import { BUSY_TIMEOUT_MS, type Sqlite } from '../open-database.ts'

/** Opens an existing database for moving its write-ahead log, and nothing else. */
export function openForCheckpoints(path: string): Sqlite {
  const db = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS })
  db.pragma('synchronous = FULL')
  db.pragma('wal_autocheckpoint = 0')
  db.pragma('cache_size = -256')
  return db
}

/** Moves the write-ahead log of a database on one connection to it. */
export class WalMover implements LogMover {
  readonly #db: Sqlite
  readonly #ask: Statement<[], LogPages>

  constructor(db: Sqlite) {
    this.#db = db
    this.#ask = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  }

  pages(): LogPages {
    return this.#ask.get() ?? { log: 0, checkpointed: 0 }
  }

  move(): void {
    this.#db.pragma('wal_checkpoint(PASSIVE)')
  }

  moveWithCommitsFrom(pages: number): void {
    this.#db.pragma(`wal_autocheckpoint = ${pages}`)
  }
}
