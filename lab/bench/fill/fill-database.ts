import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'
import { ROWS_A_BLOCK } from '../../../src/store/sqlite/span-block-facts.ts'
import { SpanBlockKeeper } from '../../../src/store/sqlite/span-block-keeper.ts'
import { fillCascades, type FilledCascades } from './fill-cascades.ts'

/** No row is pruned while a filled database is measured. */
export const UNPRUNED = ['connectors.cpid.retention={max_cpids: 0, max_age: 0s, max_bytes: 0}']

/** Makes a database with settled cascades of so many spans, faster than they could be received. */
export async function fillDatabase(path: string, spans: number): Promise<FilledCascades> {
  const db = openForWriting(path)
  await migrate(db)
  db.pragma('journal_mode = MEMORY')
  db.pragma('synchronous = OFF')
  db.pragma('cache_size = -1000000')
  const filled = fillCascades(db, spans)
  new SpanBlockKeeper(db, ROWS_A_BLOCK).keep(() => true)
  db.pragma('journal_mode = WAL')
  db.close()
  return filled
}
