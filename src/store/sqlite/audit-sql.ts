import Database, { type Statement } from 'better-sqlite3'
import { errorText } from '../../model/faults.ts'
import { type Cpid, cpidOfBytes, parseCpid, parseCpidPrefix } from '../../model/merge-graph.ts'
import type { Absent, CausewayQueries, Pages } from '../../model/queries.ts'
import { openForReading, type Sqlite } from './open-database.ts'
import { sqliteQueries } from './queries.ts'

/**
 * Opens a database for users' SQL: read-only, sorting in memory (so that it does not fill a disk), with the table functions of the merge
 * graph, which query through another connection.
 */
export function openForAudit(path: string, onAbsent: (cpid: Cpid, why: Absent) => void): Sqlite {
  const db = openForReading(path)
  db.pragma('temp_store = MEMORY')
  addGraphTables(db, sqliteQueries(openForReading(path)), onAbsent)
  return db
}

/** The table functions. Each takes a CPID and returns rows (cpid, place). */
const GRAPH_TABLES = ['related', 'ancestors', 'roots'] as const

const CPID_BYTES = 16

/**
 * Adds the table functions `related(cpid)`, `ancestors(cpid)` and `roots(cpid)`. `place` counts from 1 in the order of the API; `drives`
 * says whether a root drives the CPID (`yes`, `no`). For an unknown CPID, calls `onAbsent` and returns no rows; for NULL, returns no rows;
 * a malformed CPID is an error.
 */
function addGraphTables(
  db: Sqlite,
  queries: CausewayQueries,
  onAbsent: (cpid: Cpid, why: Absent) => void,
): void {
  for (const name of GRAPH_TABLES) {
    db.table(name, {
      columns: name === 'roots' ? ['cpid', 'place', 'drives'] : ['cpid', 'place'],
      parameters: ['of'],
      *rows(of: unknown) {
        if (of === null) return
        const cpid = cpidIn(name, of, queries)
        const pages: Pages<Cpid> | Absent = queries[name](cpid)
        if (typeof pages === 'string') {
          onAbsent(cpid, pages)
          return
        }
        const driving = name === 'roots' ? driversOf(queries, cpid) : undefined
        let place = 0
        for (const page of pages)
          for (const one of page)
            yield {
              cpid: one,
              place: ++place,
              ...(driving !== undefined && { drives: driving.has(one) ? 'yes' : 'no' }),
            }
      },
    })
  }
}

/** The roots that drive a CPID (rule 6 of docs/linking.md). */
function driversOf(queries: CausewayQueries, cpid: Cpid): ReadonlySet<Cpid> {
  const found = queries.cascadesOf(cpid)
  return new Set(typeof found === 'string' ? [] : found.drivenBy)
}

function cpidIn(name: string, value: unknown, queries: CausewayQueries): Cpid {
  if (value === undefined) throw new Error(`${name} needs a CPID; write ${name}('<cpid>')`)
  if (Buffer.isBuffer(value) && value.length === CPID_BYTES) return cpidOfBytes(value)
  const cpid = typeof value === 'string' ? parseCpid(value) : undefined
  if (cpid !== undefined) return cpid
  const prefix = typeof value === 'string' ? parseCpidPrefix(value) : undefined
  if (prefix !== undefined) {
    const [first, second] = queries.cpidsBeginning(prefix, 2)
    if (first !== undefined && second === undefined) return first
    const many = first === undefined ? 'no CPID begins' : 'several CPIDs begin'
    throw new Error(`${many} with ${prefix}, which ${name} was given; write more digits of one that there is`)
  }
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 64)) : `a ${typeof value}`
  throw new Error(
    `${name} was given ${shown}, which is no CPID; write a UUID in quotes, as ${name}('<cpid>')`,
  )
}

const LEADING_BLANKS = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?(?:\*\/|$)|;)+/
const FIRST_WORD = /^[a-z]*/i
const READING = new Set(['SELECT', 'WITH', 'VALUES', 'EXPLAIN'])

/**
 * Prepares a single read-only statement, with rows as arrays and integers as bigints. For anything else throws an Error that says what to
 * write instead.
 */
export function prepareSelect(db: Sqlite, sql: string): Statement<[], unknown[]> {
  const word = (FIRST_WORD.exec(sql.replace(LEADING_BLANKS, ''))?.[0] ?? '').toUpperCase()
  if (!READING.has(word)) throw new Error(refusalOf(word, sql))
  const statement = db.prepare<[], unknown[]>(sql)
  if (!statement.reader || !statement.readonly) throw new Error(refusalOf(word, sql))
  refuseParameters(statement)
  return statement.raw().safeIntegers()
}

/** The driver reports each kind of parameter with another error, some only at the first row. */
function refuseParameters(statement: Statement<[], unknown[]>): void {
  try {
    statement.bind()
  } catch (error) {
    throw new Error('the statement has parameters; write their values in it', { cause: error })
  }
}

/** An error of SQLite or its driver, rephrased for the author of the statement. */
export function sqlErrorSentence(error: unknown): string {
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
