import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database, { type Statement } from 'better-sqlite3'
import {
  errorText,
  isOutOfMemory,
  type StorageErrorKind,
  type StorageFault,
  type StorageFaults,
} from '../../model/faults.ts'
import { MIB } from '../../model/time-and-size.ts'
import { MOVED } from './opened-file.ts'
import { isPipeOrDevice, makePrivate } from './private-file.ts'

export type Sqlite = Database.Database

/** Queries one connection. Fields may be prepared statements, since `super(db)` runs before the fields of a subclass are initialised. */
export abstract class OnConnection {
  protected readonly db: Sqlite

  constructor(db: Sqlite) {
    this.db = db
  }

  /** Prepares a query that returns its first column. */
  protected column<Bind extends unknown[], Value>(sql: string): Statement<Bind, Value> {
    return this.db.prepare<Bind, Value>(sql).pluck()
  }

  /** Prepares a query that returns integers as bigints. */
  protected exactRows<Bind extends unknown[], Row>(sql: string): Statement<Bind, Row> {
    return this.db.prepare<Bind, Row>(sql).safeIntegers()
  }
}

const PAGE_CACHE_KIB = 16 * 1024
const CHECKPOINT_PAGES = 8_000
export const BUSY_TIMEOUT_MS = 5_000
/** Twice the usual size of the write-ahead log, to which a longer log is truncated. */
export const WAL_KEPT_BYTES = 64 * MIB

/**
 * Why hot statements use `= +?`: SQLite with STAT4, as in better-sqlite3, plans a statement again when a parameter is bound on which the
 * plan may depend; that costs ten to forty times as much as running it. An expression is not such a parameter. Lookups of one row of one
 * table by its key are planned once in any case.
 */

/**
 * Opens the database for writing. Creates the file and its directory if they do not exist. Uses WAL with synchronous=FULL: a commit is
 * durable when it returns. Throws an Error that says what to do.
 */
export function openForWriting(path: string): Sqlite {
  try {
    if (path !== ':memory:') {
      mkdirSync(dirname(path), { recursive: true })
      refuseNoFile(path)
      makePrivate(path)
      refuseOtherNames(path)
      refuseMountedAlone(path)
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
    if (error instanceof WrongPlace) throw error
    throw new Error(openFailureSentence(path, error), { cause: error })
  }
}

class WrongPlace extends Error {}

/**
 * Throws if the path leads to a pipe, socket or device, or one stands in the place of a file beside the database: opening a pipe would
 * block, and a device keeps nothing.
 */
export function refuseNoFile(path: string): void {
  const what = 'is no file but a pipe or a device'
  if (isPipeOrDevice(path))
    throw new WrongPlace(`the database ${path} (connectors::cpid::storage::path) ${what}; name a file`)
  const target = targetOf(path)
  const beside = ['-wal', '-shm', '-lock', '-mark'].map((end) => `${target}${end}`).find(isPipeOrDevice)
  if (beside !== undefined)
    throw new WrongPlace(`${beside}, which belongs to the database, ${what}; remove it`)
}

/** SQLite finds the write-ahead log by the name of the database. Under another name, the last commits would be missing or lost. */
function refuseOtherNames(path: string): void {
  const found = statSync(path)
  const names = found.nlink
  if (!found.isFile() || names <= 1) return
  throw new WrongPlace(
    `the database ${path} (connectors::cpid::storage::path) has ${names} names (hard links), and may be open under another one; ` +
      'remove the others, which find -samefile shows, or name a copy',
  )
}

/**
 * A container engine can mount a single file. Its write-ahead log would then be in the container and vanish with it, and a process outside
 * would use another log.
 */
function refuseMountedAlone(path: string): void {
  if (!mountPoints().includes(realpathSync(path))) return
  throw new WrongPlace(
    `the database ${path} (connectors::cpid::storage::path) is mounted as a single file, without the write-ahead log beside it; mount its folder`,
  )
}

/** The mount points on Linux (proc_pid_mountinfo(5)), where spaces and backslashes are in octal. */
function mountPoints(): string[] {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map((line) =>
        (line.split(' ')[4] ?? '').replace(/\\([0-7]{3})/g, (_, octal: string) =>
          String.fromCharCode(parseInt(octal, 8)),
        ),
      )
  } catch {
    return []
  }
}

/** Frees memory that SQLite only needs while it works. */
export function shrinkMemory(db: Sqlite): void {
  db.pragma('shrink_memory')
}

/** The size of the file, including the write-ahead log. */
export function bytesOf(db: Sqlite): number {
  const pragma = (name: string): number => Number(db.pragma(name, { simple: true }))
  return pragma('page_count') * pragma('page_size')
}

/**
 * Throws if the database cannot be written; changes nothing. An empty transaction also succeeds on a read-only disk, so it writes a probe.
 */
export function checkWritable(db: Sqlite): void {
  db.exec('BEGIN IMMEDIATE')
  db.exec('ROLLBACK')
  const probe = `${targetOf(db.name)}-probe-${process.pid}`
  try {
    writeFileSync(probe, Buffer.alloc(PROBE_BYTES), { flag: 'wx', mode: 0o600, flush: true })
  } finally {
    rmSync(probe, { force: true })
  }
}

const PROBE_BYTES = 4_096

/** How long closing waits for readers. Running queries end by then; a program that replicates the log never does. */
const CLOSE_WAIT_MS = 500

/** Closes the writer's connection. What cannot be checkpointed now stays in the write-ahead log, and is not lost. */
export function closeWriting(db: Sqlite): void {
  db.pragma(`busy_timeout = ${CLOSE_WAIT_MS}`)
  try {
    db.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (storageFault(error) === undefined) throw error
  }
  db.close()
}

/** Opens an existing database read-only. `cacheKib` is the size of the page cache. */
export function openForReading(path: string, cacheKib?: number): Sqlite {
  try {
    refuseNoFile(path)
    const db = new Database(path, { readonly: true, fileMustExist: true, timeout: BUSY_TIMEOUT_MS })
    db.pragma('query_only = ON')
    if (cacheKib !== undefined) db.pragma(`cache_size = -${cacheKib}`)
    return db
  } catch (error) {
    if (error instanceof WrongPlace) throw error
    throw new Error(openFailureSentence(path, error), { cause: error })
  }
}

const ADVICE: Record<StorageErrorKind | 'other', string> = {
  full: 'free some of its disk, or name another path',
  readOnly: 'give the file and its folder to the user that runs causeway, or name another path',
  damaged:
    'it is damaged, or no database of Causeway: causeway doctor says more, causeway salvage takes what is readable ' +
    'into a new file (docs/recovery.md); or name another path',
  io: 'check that the folder exists, is writable and has space, or name another path',
  locked: 'another program holds its write lock: end that program, or its transaction (fuser -v names it)',
  other: 'check that the folder exists, is writable and has space, or name another path',
}

/** Faults by system error code, from before SQLite opens the file. */
const KINDS_OF_SYSTEM: ReadonlyMap<string, StorageErrorKind> = new Map([
  ['EACCES', 'readOnly'],
  ['EPERM', 'readOnly'],
  ['EROFS', 'readOnly'],
  ['ENOSPC', 'full'],
  ['EDQUOT', 'full'],
])

/** Why a database cannot be opened, and what to do. */
export function openFailureSentence(path: string, error: unknown): string {
  const what = `cannot open the database ${path} (connectors::cpid::storage::path)`
  if (isFolder(path)) return `${what}: it is a folder; name a file in it`
  const reason = errorText(error)
  const kind = storageFault(error)?.kind ?? KINDS_OF_SYSTEM.get(codeOf(error))
  const advice = ADVICE[kind ?? 'other']
  return `${what}: ${reason}; ${advice}`
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

const WAIT_MS = 2_000

/**
 * Locks a database for one running Causeway, by a lock on a file beside it that ends with the process, even if killed. A second process
 * would link the same arrivals again, and forget the exporters of the first. Throws an Error that says what to do. Commands that only read,
 * prune or migrate need no lock.
 */
export function holdDatabase(path: string): Disposable {
  if (path === ':memory:') return { [Symbol.dispose]: () => undefined }
  const file = lockOf(path)
  let lock: Sqlite | undefined
  try {
    makePrivate(file)
    // SQLite would open a file without write permission, and not lock it.
    accessSync(file, constants.R_OK | constants.W_OK)
    lock = new Database(file, { timeout: WAIT_MS })
    lock.pragma('journal_mode = MEMORY')
    lock.exec('BEGIN EXCLUSIVE')
  } catch (cause) {
    lock?.close()
    throw new Error(lockFailureSentence(path, file, cause), { cause })
  }
  const held = lock
  return { [Symbol.dispose]: () => held.close() }
}

function lockFailureSentence(path: string, file: string, cause: unknown): string {
  if (isBusy(cause))
    return (
      `another Causeway is running on the database ${path}; stop it, or give this one another file in ` +
      'connectors::cpid::storage::path'
    )
  return (
    `cannot lock the database ${path} by ${file}: ${errorText(cause)}; give this file to the user that runs causeway, or ` +
    'remove it while no Causeway runs on the database'
  )
}

/** Whether a running Causeway uses the database; a killed process leaves no lock behind. Throws if that cannot be determined. */
export function isDatabaseLocked(path: string): boolean {
  const file = lockOf(path)
  if (!existsSync(file)) return false
  let lock: Sqlite | undefined
  try {
    lock = new Database(file, { fileMustExist: true, timeout: 0 })
    lock.exec('BEGIN EXCLUSIVE')
    lock.exec('ROLLBACK')
    return false
  } catch (cause) {
    if (isBusy(cause)) return true
    throw new Error(lockFailureSentence(path, file, cause), { cause })
  } finally {
    lock?.close()
  }
}

/** The lock file: the same for every path that leads to the database, as with SQLite's own files. */
function lockOf(path: string): string {
  return `${targetOf(path)}-lock`
}

const MOST_LINKS = 40

/** Resolves a path, including links to a file that does not exist yet. */
function targetOf(path: string, links = MOST_LINKS): string {
  if (existsSync(path)) return realpathSync(path)
  const isLink = links > 0 && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  return isLink ? targetOf(resolve(realpathSync(dirname(path)), readlinkSync(path)), links - 1) : path
}

/** Faults by prefix of SQLite's result code. */
const KINDS: readonly (readonly [string, StorageErrorKind])[] = [
  ['SQLITE_FULL', 'full'],
  ['SQLITE_READONLY', 'readOnly'],
  ['SQLITE_CORRUPT', 'damaged'],
  ['SQLITE_NOTADB', 'damaged'],
  ['SQLITE_IOERR', 'io'],
  ['SQLITE_CANTOPEN', 'io'],
  ['SQLITE_BUSY', 'locked'],
]

/** Prefixes of result codes that a single row can cause. All others concern the database or are transient. */
const OF_ONE_ROW = ['SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG']

const SENTENCES: Record<StorageErrorKind, (said: string) => string> = {
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
    `the disk of the database fails (${said}); look for it in the system's log, whether it is read-only now, and for a limit on the size of files`,
  locked: (said) =>
    `another program holds the write lock of the database (${said}); end that program, or its transaction: ` +
    'fuser -v with the path of the database names it, and storing goes on by itself',
}

/** The fault of the database behind an error of SQLite; undefined if the error has another cause. */
export function storageFault(
  error: unknown,
): (StorageFault & { readonly kind: StorageErrorKind }) | undefined {
  const code = codeOf(error)
  const kind = KINDS.find(([start]) => code.startsWith(start))?.[1]
  if (kind === undefined) return undefined
  const said = errorText(error)
  if (code === MOVED) return { kind, reason: said }
  return { kind, reason: SENTENCES[kind](kind === 'io' ? `${said}, ${code}` : said) }
}

/** Whether the data to be read is damaged or the disk fails; other data may still be readable. */
export function isDamage(error: unknown): boolean {
  const kind = storageFault(error)?.kind
  return kind === 'damaged' || kind === 'io'
}

function isAboutOneItem(error: unknown): boolean {
  const code = codeOf(error)
  if (code.startsWith('SQLITE_')) return OF_ONE_ROW.some((start) => code.startsWith(start))
  return !isOutOfMemory(error)
}

function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY')
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : ''
}

/** Classifies the errors of SQLite. */
export const sqliteFaults: StorageFaults = { of: storageFault, isAboutOneItem }

/** Checks the pages of a database. Returns the single row `ok` if there is no fault. */
export const QUICK_CHECK = 'SELECT * FROM pragma_quick_check'
