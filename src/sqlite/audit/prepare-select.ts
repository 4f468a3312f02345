import Database, { type Statement } from 'better-sqlite3'
import { errorText } from '../../model/error-text.ts'
import type { Sqlite } from '../open-database.ts'

const LEADING_BLANKS = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$)|;)+/
const FIRST_WORD = /^[a-z]*/i
const READING = new Set(['SELECT', 'WITH', 'VALUES', 'EXPLAIN'])

/**
 * Prepares one statement that only reads, its rows as arrays with every integer a bigint. Throws an Error that says
 * what to write instead when it is anything else.
 */
export function prepareSelect(db: Sqlite, sql: string): Statement<[], unknown[]> {
  const word = (FIRST_WORD.exec(sql.replace(LEADING_BLANKS, ''))?.[0] ?? '').toUpperCase()
  if (!READING.has(word)) throw new Error(refusalOf(word, sql))
  const statement = db.prepare<[], unknown[]>(sql)
  if (!statement.reader || !statement.readonly) throw new Error(refusalOf(word, sql))
  refuseParameters(statement)
  return statement.raw().safeIntegers()
}

/** Each kind of parameter has an error of its own in the driver, and some only when the first row is asked for. */
function refuseParameters(statement: Statement<[], unknown[]>): void {
  try {
    statement.bind()
  } catch (error) {
    throw new Error('the statement has parameters; write their values in it', { cause: error })
  }
}

/** What an error of SQLite or of its driver comes to for whoever wrote the statement. */
export function sentenceOf(error: unknown): string {
  const message = errorText(error)
  if (message.includes('more than one statement'))
    return 'there are several statements; ask them one at a time'
  if (message.includes('no statements')) return 'there is no statement; write one SELECT'
  if (message === 'not authorized') return 'extensions are not loaded here; write one SELECT without them'
  if (message.startsWith('no such table')) {
    return `${message}; SELECT name FROM sqlite_schema WHERE name LIKE 'audit%' lists what there is`
  }
  if (message.startsWith('no such column')) {
    return `${message}; SELECT name FROM pragma_table_info('audit_spans') lists those of a view, and text stands in single quotes`
  }
  if (isAboutSql(error)) return `${message}; correct the SQL`
  return message
}

function isAboutSql(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_ERROR'
}

function refusalOf(word: string, sql: string): string {
  if (sql.replace(LEADING_BLANKS, '') === '') return 'there is no statement; write one SELECT'
  if (word === 'ATTACH' || word === 'DETACH') {
    return `${word} is refused, since only this database is read; write one SELECT`
  }
  if (word === 'PRAGMA') {
    return "PRAGMA is refused; what only reads is also a table, as in SELECT * FROM pragma_table_info('audit_spans')"
  }
  if (sql.trimStart().startsWith('.')) {
    return 'commands that begin with a dot belong to the sqlite3 shell; write one SELECT'
  }
  const what = READING.has(word) || word === '' ? 'that statement' : word
  return `${what} is refused, since this only reads; write one SELECT, WITH … SELECT, VALUES or EXPLAIN`
}
