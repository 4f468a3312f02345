import type { Cpid } from '../model/cpid.ts'
import type { Absent } from '../model/ports/query-port.ts'

export interface SqlQuestion {
  path: string
  sql: string
  maxRows: number
}

/** A value as SQLite gives it: integers are bigints, BLOBs bytes. */
export type SqlValue = null | bigint | number | string | Uint8Array

/** What the process that asks tells the one that waits. */
export type FromSql =
  | { kind: 'columns'; names: string[] }
  | { kind: 'rows'; rows: SqlValue[][] }
  | { kind: 'absent'; cpid: Cpid; why: Absent }
  | { kind: 'done'; cut: boolean }
  | { kind: 'failed'; message: string }
