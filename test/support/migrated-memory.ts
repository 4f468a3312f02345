import Database from 'better-sqlite3'
import { migrate } from '../../src/sqlite/migrate.ts'
import { openForWriting, type Sqlite } from '../../src/sqlite/open-database.ts'

let migrated: Promise<Buffer> | undefined

/** A database in memory that is up to date. It is migrated once a file of tests, and copied after that, at a sixtieth of the cost. */
export async function migratedMemory(): Promise<Sqlite> {
  const db = new Database(await (migrated ??= migratedOnce()))
  db.pragma('temp_store = MEMORY')
  return db
}

async function migratedOnce(): Promise<Buffer> {
  const db = openForWriting(':memory:')
  try {
    await migrate(db)
    return db.serialize()
  } finally {
    db.close()
  }
}
