import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { MIB } from '../../model/time-and-size.ts'
import { openForAudit, prepareSelect, sqlErrorSentence } from '../../store/sqlite/audit-sql.ts'
import type { FromSql, SqlQuestion, SqlValue } from './ask-sql.ts'

const ROWS_AT_ONCE = 500
const MAX_ABSENT = 3
const MAX_BYTES = 256 * MIB

/** Runs the query. The main thread of the process stays free to end the process. */
function ask(port: MessagePort, { path, sql, maxRows }: SqlQuestion): void {
  const post = (message: FromSql): void => port.postMessage(message)
  let absent = 0
  const db = openForAudit(path, (cpid, why) => {
    if (++absent <= MAX_ABSENT) post({ kind: 'absent', cpid, why })
  })
  const statement = prepareSelect(db, sql)
  post({ kind: 'columns', names: statement.columns().map(({ name }) => name) })
  let rows: SqlValue[][] = []
  let given = 0
  let bytes = 0
  let cut = false
  for (const values of statement.iterate()) {
    if (given === maxRows) {
      cut = true
      break
    }
    const row = values as SqlValue[]
    given++
    bytes += row.reduce<number>((sum, value) => sum + sizeOf(value), 0)
    if (bytes > MAX_BYTES)
      throw new Error('the answer is larger than 256 MiB; ask for fewer or shorter columns')
    rows.push(row)
    if (rows.length === ROWS_AT_ONCE) {
      post({ kind: 'rows', rows })
      rows = []
    }
  }
  post({ kind: 'rows', rows })
  post({ kind: 'done', cut })
}

function sizeOf(value: SqlValue): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
}

if (parentPort !== null) {
  try {
    ask(parentPort, workerData as SqlQuestion)
  } catch (error) {
    parentPort.postMessage({ kind: 'failed', message: sqlErrorSentence(error) } satisfies FromSql)
  }
}
