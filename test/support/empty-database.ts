import Database from 'better-sqlite3'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { preparesLate } from './late-statements.ts'
import { TestWriter } from './test-writer.ts'

let empty: Buffer | undefined

/** What a writer has been opened on once, and copied then. */
export async function emptyDatabase(): Promise<Sqlite> {
  if (empty === undefined) {
    using writer = await TestWriter.open()
    empty = writer.db.serialize()
  }
  return preparesLate(new Database(empty))
}
