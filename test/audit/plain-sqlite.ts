import { execFileSync } from 'node:child_process'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'

const ASKS_SHELL = process.env['CAUSEWAY_SQLITE_SHELL'] === '1'

/** Asks an SQLite that has no functions of ours: Node's own or, in npm run test:shell, the sqlite3 shell. */
export function askPlain(path: string, sql: string): unknown[] {
  return ASKS_SHELL ? askShell(path, sql) : askNode(path, sql)
}

/** Throws an Error that says so where no such shell is installed. */
export function askShell(path: string, sql: string, shell = 'sqlite3'): unknown[] {
  try {
    const printed = execFileSync(shell, ['-readonly', '-json', path, sql], { encoding: 'utf8' })
    return printed.trim() === '' ? [] : (JSON.parse(printed) as unknown[])
  } catch (error) {
    // Under jest an error of Node's own is of another realm, and no instance of this one's Error.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new Error(
        `no ${shell} shell is installed; install the package sqlite3 and run npm run test:shell again`,
        {
          cause: error,
        },
      )
    }
    throw error
  }
}

function askNode(path: string, sql: string): unknown[] {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    const question = db.prepare(sql)
    // Times in nanoseconds are more than a number holds; as JSON they are rounded.
    question.setReadBigInts(true)
    return question.all().map(asJson)
  } finally {
    db.close()
  }
}

function asJson(row: Record<string, SQLOutputValue>): unknown {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [column, typeof value === 'bigint' ? Number(value) : value]),
  )
}
