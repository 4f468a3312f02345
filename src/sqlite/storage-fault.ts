import { errorText } from '../model/error-text.ts'
import { isOutOfMemory } from '../model/set-aside.ts'
import type { StorageFault, StorageFaultKind, StorageFaults } from '../model/storage-fault.ts'

/** SQLite's result codes, by how they begin. */
const KINDS: readonly (readonly [string, StorageFaultKind])[] = [
  ['SQLITE_FULL', 'full'],
  ['SQLITE_READONLY', 'readOnly'],
  ['SQLITE_CORRUPT', 'damaged'],
  ['SQLITE_NOTADB', 'damaged'],
  ['SQLITE_IOERR', 'io'],
  ['SQLITE_CANTOPEN', 'io'],
]

/** How result codes begin that a single row can bring about. All others are about the database, or about the moment. */
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

/** What an error of SQLite means for the database; undefined when it is about something else. */
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
