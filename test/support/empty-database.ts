import Database from 'better-sqlite3'
import type { Sqlite } from '../../src/sqlite/open-database.ts'
import { TestWriter } from './test-writer.ts'

let empty: Buffer | undefined

/** Migrated once, and copied then. */
export async function emptyDatabase(): Promise<Sqlite> {
  if (empty === undefined) {
    using writer = await TestWriter.open()
    empty = writer.db.serialize()
  }
  return new Database(empty)
}
