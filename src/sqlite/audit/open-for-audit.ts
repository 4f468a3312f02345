import type { Cpid } from '../../model/cpid.ts'
import type { Absent } from '../../model/ports/query-port.ts'
import { openForReading, type Sqlite } from '../open-database.ts'
import { SqliteQueries } from '../readers/sqlite-queries.ts'
import { addGraphTables } from './graph-tables.ts'

/**
 * Opens a database for other people's SQL: it only reads, sorts in memory rather than filling a disk, and knows the
 * functions of the merge graph, which ask through a connection of their own.
 */
export function openForAudit(path: string, onAbsent: (cpid: Cpid, why: Absent) => void): Sqlite {
  const db = openForReading(path)
  db.pragma('temp_store = MEMORY')
  addGraphTables(db, new SqliteQueries(openForReading(path)), onAbsent)
  return db
}
