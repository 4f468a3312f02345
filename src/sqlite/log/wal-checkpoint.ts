import Database from 'better-sqlite3'
import type { Statement } from 'better-sqlite3'
import { BUSY_TIMEOUT_MS, type Sqlite } from '../open-database.ts'

/** Pages in the write-ahead log, and how many of them are in the database already. */
export interface WalState {
  readonly log: number
  readonly checkpointed: number
}

/** Opens an existing database for moving its write-ahead log, and nothing else. */
export function openForCheckpoints(path: string): Sqlite {
  const db = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS })
  db.pragma('synchronous = FULL')
  db.pragma('wal_autocheckpoint = 0')
  db.pragma('cache_size = -256')
  return db
}

/** Copies as much of the write-ahead log into the database as nobody reads an older state than; waits for nobody. */
export function moveWal(db: Sqlite): void {
  db.pragma('wal_checkpoint(PASSIVE)')
}

/** Asks how long the write-ahead log is, and moves nothing. */
export function walStateOf(db: Sqlite): () => WalState {
  const ask: Statement<[], WalState> = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  return () => ask.get() ?? { log: 0, checkpointed: 0 }
}
