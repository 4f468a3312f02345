import type { FromSql } from '../../threads/sql-messages.ts'
import type { Salvaged } from '../../model/salvaged.ts'
import { QUICK_CHECK } from '../../sqlite/audit/quick-check.ts'
import { holdDatabase, isHeld } from '../../sqlite/hold-database.ts'
import { migrate } from '../../sqlite/migrate.ts'
import { openForWriting } from '../../sqlite/open-database.ts'
import { salvage } from '../../sqlite/salvage/salvage.ts'
import { askSql } from '../sql/ask-sql.ts'

const MAX_FAULTS = 5

/** Whether a Causeway runs on a database now. */
export function isRunningOn(path: string): boolean {
  return isHeld(path)
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

/** Copies what can be read of a damaged database, on which no Causeway may run, into a new file. */
export async function salvageDatabase(from: string, to: string): Promise<Salvaged> {
  const hold = holdDatabase(from)
  try {
    return await salvage(from, to)
  } finally {
    hold[Symbol.dispose]()
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
