import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { ReusedDatabases } from './reused-databases.ts'
import { TestWriter } from './test-writer.ts'

let databases: ReusedDatabases | undefined

/** What a writer has been opened on once, and copied then. */
export async function emptyDatabase(): Promise<Sqlite> {
  if (databases === undefined) {
    using writer = await TestWriter.open()
    databases = new ReusedDatabases(writer.db.serialize())
  }
  return databases.lend()
}
