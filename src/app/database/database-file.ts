import { statSync } from 'node:fs'
import type { CausewayQueries } from '../../model/ports/query-port.ts'
import type { SchemaState, SenderFactsReader, SetAsideFacts } from '../../model/ports/setup-port.ts'
import { checkWritable, openForReading, openForWriting, WAL_KEPT_BYTES } from '../../sqlite/open-database.ts'
import { SqliteSenderFacts } from '../../sqlite/readers/records/sender-facts.ts'
import { readSetAside } from '../../sqlite/readers/set-aside-facts.ts'
import { SqliteQueries } from '../../sqlite/readers/sqlite-queries.ts'
import { schemaState } from '../../sqlite/schema-state.ts'
import { sqliteStores } from '../../sqlite/writer-stores.ts'
import { StoreWriter, type WriterSettings } from '../../store/store-writer.ts'
import { systemClock } from '../system-clock.ts'

/** A database that is there, as a command asks it, whether or not a Causeway runs on it. */
export interface AskedDatabase extends Disposable {
  /** Throws when the file is no database. */
  readonly schema: SchemaState
  queries(): CausewayQueries
  senders(): SenderFactsReader
  /** Undefined when nothing was set aside. */
  setAside(): SetAsideFacts | undefined
}

/** Opens a database for questions. Throws an Error that says what to do. */
export function askDatabase(path: string): AskedDatabase {
  const db = openForReading(path)
  return {
    get schema() {
      return schemaState(db)
    },
    queries: () => new SqliteQueries(db),
    senders: () => new SqliteSenderFacts(db),
    setAside: () => readSetAside(db),
    [Symbol.dispose]: () => db.close(),
  }
}

/** A database that is there, as a command changes it; a Causeway may run on it. */
export interface ChangedDatabase extends Disposable {
  /** Throws when the file is no database. */
  readonly schema: SchemaState
  /** Throws when it cannot be written; changes nothing. */
  checkWritable(): void
  writer(settings: WriterSettings): StoreWriter
}

/** Opens a database for changes. Throws an Error that says what to do. */
export function changeDatabase(path: string): ChangedDatabase {
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

/** How long the write-ahead log of a database is, in bytes, where that is longer than it gets by itself. */
export function longLogBytes(path: string): number | undefined {
  const bytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  return bytes > WAL_KEPT_BYTES ? bytes : undefined
}
