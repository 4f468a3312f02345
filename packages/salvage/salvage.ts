import { existsSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { errorText } from '../../src/model/faults.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import {
  holdDatabase,
  openForWriting,
  refuseNoFile,
  type Sqlite,
  storageFault,
} from '../../src/store/sqlite/open-database.ts'
import { mend, type Mended } from './mend.ts'
import { openDamaged } from './open-damaged.ts'
import { readAroundDamage, type Row, type TableToRead } from './read-around-damage.ts'

/** What could be read of a table of a damaged database. */
export interface SalvagedTable {
  readonly table: string
  readonly rows: number
  /** Stretches that could not be read, in words; rows that did not fit count as well. */
  readonly lost: readonly string[]
}

/** What a damaged database came to. */
export interface Salvaged {
  readonly isHeaderNew: boolean
  readonly tables: readonly SalvagedTable[]
  readonly mended: readonly Mended[]
}

/**
 * Copies what can be read of a damaged database, on which no Causeway may run, into a new file, which agrees with itself
 * afterwards. The damaged file stays as it is. Throws what to do where the new file is there already, or nothing can be read; then there is none.
 */
export async function salvage(from: string, to: string): Promise<Salvaged> {
  refuseNoFile(from)
  const hold = holdDatabase(from)
  try {
    return await salvageHeld(from, to)
  } finally {
    hold[Symbol.dispose]()
  }
}

async function salvageHeld(from: string, to: string): Promise<Salvaged> {
  if (existsSync(to)) throw new Error(`${to} is there already; name a file that is not`)
  const target = openForWriting(to)
  try {
    await migrate(target)
    target.pragma('wal_checkpoint(TRUNCATE)')
    using source = openDamaged(from, to, `${to}-copy`)
    // A log would need as much room again; a file that is not finished is removed.
    target.pragma('journal_mode = OFF')
    target.pragma('synchronous = OFF')
    const tables = tablesOf(target).map((table) => copyTable(source.db, target, table))
    const isProgressLost = tables.some(({ table, lost }) => table === 'progress' && lost.length > 0)
    const mended = mend(target, isProgressLost)
    target.pragma('synchronous = FULL')
    target.pragma('journal_mode = WAL')
    target.pragma('wal_checkpoint(TRUNCATE)')
    target.close()
    return { isHeaderNew: source.isHeaderNew, tables, mended }
  } catch (error) {
    target.close()
    for (const end of ['', '-wal', '-shm']) rmSync(`${to}${end}`, { force: true })
    throw isNoRoom(error)
      ? new Error(
          `cannot write ${to}: ${errorText(error)}; make room for the database twice, and do it again`,
          { cause: error },
        )
      : error
  }
}

function isNoRoom(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
  return code === 'ENOSPC' || storageFault(cause)?.kind === 'full'
}

function copyTable(source: Sqlite, target: Sqlite, wanted: TableToRead): SalvagedTable {
  const { name, key } = wanted
  const lost: string[] = []
  const columns = columnsIn(source, wanted)
  if (columns === 'none') return { table: name, rows: 0, lost: [] }
  if (columns === 'other') return { table: name, rows: 0, lost: ['all of it, which is no table of Causeway'] }
  const into = key === undefined ? ['rowid', ...columns] : columns
  const insert = target.prepare(
    `INSERT OR ${name === 'progress' ? 'REPLACE' : 'IGNORE'} INTO ${name} (${into.join(', ')})
     VALUES (${into.map(() => '?').join(', ')})`,
  )
  const add = (row: Row): number => {
    try {
      return insert.run(...row).changes
    } catch (cause) {
      const fault = storageFault(cause)
      if (fault !== undefined) throw new Error(fault.reason, { cause })
      // A damaged page that looks whole may hold values of another kind.
      lost.push(key === undefined ? `row ${String(row[0])}` : 'a row')
      return 0
    }
  }
  const rows = target.transaction(() => {
    let copied = 0
    try {
      for (const row of readAroundDamage(source, { name, columns, key }, (stretch) => lost.push(stretch)))
        copied += add(row)
    } catch (error) {
      if (!(error instanceof Database.SqliteError)) throw error
      lost.push('all of it')
    }
    return copied
  })()
  return { table: name, rows, lost }
}

/** The tables to fill, from the schema itself. */
function tablesOf(db: Sqlite): TableToRead[] {
  const tables = db
    .prepare<[], { name: string; wr: number }>(
      `SELECT name, wr FROM pragma_table_list
       WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'kysely%' ORDER BY name`,
    )
    .all()
  return tables.map(({ name, wr }) => {
    const columns = db
      .prepare<[string], { name: string; pk: number }>('SELECT name, pk FROM pragma_table_info(?)')
      .all(name)
    const key = columns.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
    return {
      name,
      columns: columns.map((column) => column.name),
      key: wr === 1 ? key.map((column) => column.name) : undefined,
    }
  })
}

/**
 * Those of its columns that the damaged database has, which may be older. What goes by the table's name but is a view, or has
 * other keys, is not read: it may be made up on reading, and have no end.
 */
function columnsIn(db: Sqlite, { name, columns, key }: TableToRead): string[] | 'none' | 'other' {
  const kind = db
    .prepare<[string], { type: string; wr: number }>(
      "SELECT type, wr FROM pragma_table_list(?) WHERE schema = 'main'",
    )
    .get(name)
  if (kind === undefined) return 'none'
  const there = db
    .prepare<[string], { name: string; pk: number }>('SELECT name, pk FROM pragma_table_info(?)')
    .all(name)
  const names = there.map((column) => column.name)
  const keyThere = there.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
  const isSame =
    kind.type === 'table' &&
    (key === undefined
      ? kind.wr === 0 && !names.some((column) => column.toLowerCase() === 'rowid')
      : kind.wr === 1 && key.join() === keyThere.map((column) => column.name).join())
  return isSame ? columns.filter((column) => names.includes(column)) : 'other'
}
