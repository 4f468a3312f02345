import Database from 'better-sqlite3'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorText } from '../model/error-text.ts'
import type { StorageFaultKind } from '../model/storage-fault.ts'
import { makePrivate } from './private-file.ts'
import { storageFault } from './storage-fault.ts'
import { MIB } from '../model/sizes.ts'

export type Sqlite = Database.Database

const PAGE_CACHE_KIB = 16 * 1024
const CHECKPOINT_PAGES = 8_000
export const BUSY_TIMEOUT_MS = 5_000
/** Twice what lies in the write-ahead log when nobody holds it up; one that has grown is cut back to this. */
export const WAL_KEPT_BYTES = 64 * MIB

/*
 * Why hot statements say `= +?`: SQLite with STAT4, as better-sqlite3 brings it, plans a statement anew whenever a
 * parameter is bound that its plan could depend on, at ten to forty times the cost of running it. An expression is no
 * such parameter. Statements that find one row of one table by its key are planned once in any case.
 */

/**
 * Opens the database for writing, making the file and its folder where there is none. WAL with FULL synchronisation:
 * a commit is on the disk before it returns. Throws an Error that says what to do.
 */
export function openForWriting(path: string): Sqlite {
  try {
    if (path !== ':memory:') {
      mkdirSync(dirname(path), { recursive: true })
      makePrivate(path)
    }
    const db = new Database(path, { timeout: BUSY_TIMEOUT_MS })
    db.pragma('journal_mode = WAL')
    db.pragma('synchronous = FULL')
    db.pragma(`cache_size = -${PAGE_CACHE_KIB}`)
    db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
    db.pragma(`journal_size_limit = ${WAL_KEPT_BYTES}`)
    db.pragma('temp_store = MEMORY')
    return db
  } catch (error) {
    throw new Error(storageSentence(path, error), { cause: error })
  }
}

/** Gives memory back that is of use only while there is work. */
export function shrinkMemory(db: Sqlite): void {
  db.pragma('shrink_memory')
}

/** Throws when the database cannot be written; changes nothing. */
export function checkWritable(db: Sqlite): void {
  db.exec('BEGIN IMMEDIATE')
  db.exec('ROLLBACK')
}

/** Closes the writing connection. What lies in the write-ahead log stays there when it cannot be moved now; nothing of it is lost. */
export function closeWriting(db: Sqlite): void {
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (storageFault(error) === undefined) throw error
  }
  db.close()
}

/** Which state of the database the connection reads: changes when another one commits. */
export function dataVersion(db: Sqlite): string {
  return String(db.pragma('data_version', { simple: true }))
}

/** Opens an existing database for questions only: nothing done through it can change the file. `cacheKib` is memory for pages. */
export function openForReading(path: string, cacheKib?: number): Sqlite {
  try {
    const db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS })
    db.pragma('query_only = ON')
    if (cacheKib !== undefined) db.pragma(`cache_size = -${cacheKib}`)
    return db
  } catch (error) {
    throw new Error(storageSentence(path, error), { cause: error })
  }
}

const ADVICE: Record<StorageFaultKind | 'other', string> = {
  full: 'free some of its disk, or name another path',
  readOnly: 'give the file and its folder to the user that runs causeway, or name another path',
  damaged:
    'it is damaged, or no database of Causeway: causeway doctor says more, causeway salvage takes what is readable ' +
    'into a new file (docs/recovery.md); or name another path',
  io: 'check that the folder exists, is writable and has space, or name another path',
  other: 'check that the folder exists, is writable and has space, or name another path',
}

/** Why a database cannot be opened, and what to do. */
export function storageSentence(path: string, error: unknown): string {
  const reason = errorText(error)
  const advice = ADVICE[storageFault(error)?.kind ?? 'other']
  return `cannot open the database ${path} (connectors::cpid::storage::path): ${reason}; ${advice}`
}
