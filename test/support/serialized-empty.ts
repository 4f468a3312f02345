import { migrate } from '../../src/store/sqlite/migrate.ts'
import { openForWriting } from '../../src/store/sqlite/open-database.ts'

/** A database that every migration has run on, and nothing else. */
export async function serializedEmpty(): Promise<Buffer> {
  const db = openForWriting(':memory:')
  try {
    await migrate(db)
    return db.serialize()
  } finally {
    db.close()
  }
}
