import { statSync } from 'node:fs'
import type { Unarchived } from '../model/archive.ts'
import type { CausewayQueries, SchemaState, SenderFactsReader, SetAsideFacts } from '../model/queries.ts'
import { systemClock } from '../platform/system-clock.ts'
import { askSql, type FromSql } from '../query/threads/ask-sql.ts'
import { migrate, schemaState } from '../store/sqlite/migrate.ts'
import {
  bytesOf,
  checkWritable,
  openForReading,
  openForWriting,
  QUICK_CHECK,
  WAL_KEPT_BYTES,
} from '../store/sqlite/open-database.ts'
import { sqliteQueries } from '../store/sqlite/queries.ts'
import { SqliteUnarchived } from '../store/sqlite/unarchived.ts'
import { readSetAside, SqliteSenderFacts } from '../store/sqlite/setup-facts.ts'
import { sqliteStores } from '../store/sqlite/writer-stores.ts'
import { StoreWriter, type WriterSettings } from '../store/store-writer.ts'

/** An existing database, opened for reading; a Causeway may be running on it. */
export interface QuestionsDatabase extends Disposable {
  /** Throws if the file is not a database. */
  readonly schema: SchemaState
  /** The size of the file, including the write-ahead log. */
  readonly bytes: number
  queries(): CausewayQueries
  /** Rows that have not been archived. */
  unarchived(): Unarchived
  senders(): SenderFactsReader
  /** Undefined if nothing was set aside. */
  setAside(): SetAsideFacts | undefined
}

/** Opens a database for questions. Throws an Error that says what to do. */
export function openForQuestions(path: string): QuestionsDatabase {
  const db = openForReading(path)
  return {
    get schema() {
      return schemaState(db)
    },
    get bytes() {
      return bytesOf(db)
    },
    queries: () => sqliteQueries(db),
    unarchived: () => new SqliteUnarchived(db),
    senders: () => new SqliteSenderFacts(db),
    setAside: () => readSetAside(db),
    [Symbol.dispose]: () => db.close(),
  }
}

/** An existing database, opened for writing; a Causeway may be running on it. */
export interface ChangesDatabase extends Disposable {
  /** Throws if the file is not a database. */
  readonly schema: SchemaState
  /** Throws if it cannot be written; changes nothing. */
  checkWritable(): void
  writer(settings: WriterSettings): StoreWriter
}

/** Opens a database for changes. Throws an Error that says what to do. */
export function openForChanges(path: string): ChangesDatabase {
  const db = openForWriting(path)
  return {
    get schema() {
      return schemaState(db)
    },
    checkWritable: () => checkWritable(db),
    writer: (settings) => new StoreWriter(sqliteStores(db, settings, systemClock), settings, systemClock),
    [Symbol.dispose]: () => db.close(),
  }
}

/** The size of the write-ahead log in bytes, if it is unusually large. */
export function longLogBytes(path: string): number | undefined {
  const bytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  return bytes > WAL_KEPT_BYTES ? bytes : undefined
}

const MAX_FAULTS = 5

/** Creates or migrates a database. Resolves to the names of the migrations that ran. */
export async function migrateDatabase(path: string): Promise<string[]> {
  const db = openForWriting(path)
  try {
    return (await migrate(db)).applied
  } finally {
    db.close()
  }
}

/** Checks every page of a database in a child process. Resolves to SQLite's messages about faults. */
export async function faultyPages(path: string, timeoutMs: number): Promise<string[]> {
  const found: string[] = []
  const take = (answer: FromSql): void => {
    if (answer.kind === 'rows') found.push(...answer.rows.map(([text]) => String(text)))
  }
  await askSql({ path, sql: QUICK_CHECK, maxRows: MAX_FAULTS }, timeoutMs, take)
  return found.join() === 'ok' ? [] : found
}
