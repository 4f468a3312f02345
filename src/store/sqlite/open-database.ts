import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database from 'better-sqlite3'
import {
  errorText,
  isOutOfMemory,
  type StorageFault,
  type StorageFaultKind,
  type StorageFaults,
} from '../../model/faults.ts'
import { MIB } from '../../model/time-and-size.ts'
import { makePrivate } from './private-file.ts'

export type Sqlite = Database.Database

const PAGE_CACHE_KIB = 16 * 1024
const CHECKPOINT_PAGES = 8_000
export const BUSY_TIMEOUT_MS = 5_000
/** Twice the usual length of the write-ahead log. A longer log is truncated to this length. */
export const WAL_KEPT_BYTES = 64 * MIB

/*
 * Why hot statements say `= +?`: SQLite with STAT4, as better-sqlite3 brings it, plans a statement anew whenever a
 * parameter is bound that its plan could depend on, at ten to forty times the cost of running it. An expression is no
 * such parameter. Statements that find one row of one table by its key are planned once in any case.
 */

/**
 * Opens the database for writing. Creates the file and its folder if they do not exist. WAL with FULL synchronisation: a commit is on
 * disk before it returns. Throws an Error that says what to do.
 */
export function openForWriting(path: string): Sqlite {
  try {
    if (path !== ':memory:') {
      mkdirSync(dirname(path), { recursive: true })
      makePrivate(path)
      refuseOtherNames(path)
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
    if (error instanceof OtherNames) throw error
    throw new Error(openFailureSentence(path, error), { cause: error })
  }
}

class OtherNames extends Error {}

/** SQLite finds a write-ahead log by the name of its database: under another name, what was committed last is not there, or lost. */
function refuseOtherNames(path: string): void {
  const found = statSync(path)
  const names = found.nlink
  if (!found.isFile() || names <= 1) return
  throw new OtherNames(
    `the database ${path} (connectors::cpid::storage::path) has ${names} names (hard links), and may be open under another one; ` +
      'remove the others, which find -samefile shows, or name a copy',
  )
}

/** Frees memory that is only needed while there is work. */
export function shrinkMemory(db: Sqlite): void {
  db.pragma('shrink_memory')
}

/** Throws if the database cannot be written; changes nothing. */
export function checkWritable(db: Sqlite): void {
  db.exec('BEGIN IMMEDIATE')
  db.exec('ROLLBACK')
}

/** Running queries end within this time. A program that replicates the log never releases it. */
const CLOSE_WAIT_MS = 500

/** Closes the writing connection. What cannot be checkpointed now stays in the write-ahead log; nothing is lost. */
export function closeWriting(db: Sqlite): void {
  db.pragma(`busy_timeout = ${CLOSE_WAIT_MS}`)
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (storageFault(error) === undefined) throw error
  }
  db.close()
}

/** Opens an existing database for queries only: nothing done through it can change the file. `cacheKib` is memory for pages. */
export function openForReading(path: string, cacheKib?: number): Sqlite {
  try {
    const db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS })
    db.pragma('query_only = ON')
    if (cacheKib !== undefined) db.pragma(`cache_size = -${cacheKib}`)
    return db
  } catch (error) {
    throw new Error(openFailureSentence(path, error), { cause: error })
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
export function openFailureSentence(path: string, error: unknown): string {
  const reason = errorText(error)
  const advice = ADVICE[storageFault(error)?.kind ?? 'other']
  return `cannot open the database ${path} (connectors::cpid::storage::path): ${reason}; ${advice}`
}

const WAIT_MS = 2_000

/**
 * Locks a database for one running Causeway, through a lock on a file beside it that ends with the process, however it ends. A second
 * process would link the same arrivals again and forget the first one's exporters. Throws an Error that says what to do. Commands that
 * only read, prune or migrate need no lock.
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

/** Whether a Causeway process uses a database now. The lock of a killed process is gone with it. */
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
  return `${targetOf(path)}-lock`
}

const MOST_LINKS = 40

/** Where a path leads, also where a link on the way leads to a file that is yet to be made. */
function targetOf(path: string, links = MOST_LINKS): string {
  if (existsSync(path)) return realpathSync(path)
  const isLink = links > 0 && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  return isLink ? targetOf(resolve(realpathSync(dirname(path)), readlinkSync(path)), links - 1) : path
}

/** SQLite's result codes, by prefix. */
const KINDS: readonly (readonly [string, StorageFaultKind])[] = [
  ['SQLITE_FULL', 'full'],
  ['SQLITE_READONLY', 'readOnly'],
  ['SQLITE_CORRUPT', 'damaged'],
  ['SQLITE_NOTADB', 'damaged'],
  ['SQLITE_IOERR', 'io'],
  ['SQLITE_CANTOPEN', 'io'],
]

/** Prefixes of result codes that a single row can cause. All others are about the database or the moment. */
const OF_ONE_ROW = ['SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG']

const SENTENCES: Record<StorageFaultKind, (said: string) => string> = {
  full: (said) =>
    `the disk of the database is full (${said}); free some of it: senders keep what they could not hand over, ` +
    'and storing goes on by itself',
  readOnly: (said) =>
    `the database cannot be written (${said}); give its file and folder to the user that runs causeway, on a disk ` +
    'that is not read-only',
  damaged: (said) =>
    `the database is damaged (${said}); stop causeway, ask causeway doctor, and take what is readable into a new ` +
    'file with causeway salvage (docs/recovery.md)',
  io: (said) =>
    `the disk of the database fails (${said}); look for it in the system's log, and for a limit on the size of files`,
}

/** What an error of SQLite means for the database; undefined if it is about something else. */
export function storageFault(error: unknown): StorageFault | undefined {
  const code = codeOf(error)
  const kind = KINDS.find(([start]) => code.startsWith(start))?.[1]
  if (kind === undefined) return undefined
  const said = errorText(error)
  return { kind, reason: SENTENCES[kind](kind === 'io' ? `${said}, ${code}` : said) }
}

function isAboutOneItem(error: unknown): boolean {
  const code = codeOf(error)
  if (code.startsWith('SQLITE_')) return OF_ONE_ROW.some((start) => code.startsWith(start))
  return !isOutOfMemory(error)
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
}

/** What the errors of SQLite mean. */
export const sqliteFaults: StorageFaults = { of: storageFault, isAboutOneItem }

/** Checks the pages of a database. Returns the one row `ok` if nothing is wrong. */
export const QUICK_CHECK = 'SELECT * FROM pragma_quick_check'
