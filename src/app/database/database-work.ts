import type { FromSql } from '../../threads/sql-messages.ts'
import { QUICK_CHECK } from '../../sqlite/audit/quick-check.ts'
import { isDatabaseLocked } from '../../sqlite/hold-database.ts'
import { migrate } from '../../sqlite/migrate.ts'
import { openForWriting } from '../../sqlite/open-database.ts'
import { askSql } from '../sql/ask-sql.ts'

const MAX_FAULTS = 5

/** Whether a Causeway runs on a database now. */
export function isRunningOn(path: string): boolean {
  return isDatabaseLocked(path)
}

/** Makes a database, or brings its schema up to date; returns the names of the migrations that ran now. */
export async function migrateDatabase(path: string): Promise<string[]> {
  const db = openForWriting(path)
  try {
    return (await migrate(db)).applied
  } finally {
    db.close()
  }
}

/** Looks at every page of a database in a process of its own; returns what is wrong, in SQLite's words. */
export async function faultyPages(path: string, timeoutMs: number): Promise<string[]> {
  const found: string[] = []
  const take = (answer: FromSql): void => {
    if (answer.kind === 'rows') found.push(...answer.rows.map(([text]) => String(text)))
  }
  await askSql({ path, sql: QUICK_CHECK, maxRows: MAX_FAULTS }, timeoutMs, take)
  return found.join() === 'ok' ? [] : found
}
