import { storageFault } from '../storage-fault.ts'
import type { Sqlite } from '../open-database.ts'

/** A row: the rowid first where the table has one, then the columns asked for. */
export type Row = readonly unknown[]

export interface TableToRead {
  readonly name: string
  readonly columns: readonly string[]
  /** The primary key of a table without rowids. */
  readonly key: readonly string[] | undefined
}

const CHUNK = 256
/** Rowids looked at one by one behind damage, before the steps grow: what is whole between damaged pages is found. */
const CLOSE_LOOK = 1_000
const LAST_ROWID = 2 ** 53

/** Reads what can be read of a table; `onLost` is told of each stretch that cannot, in words. */
export function readAroundDamage(
  db: Sqlite,
  table: TableToRead,
  onLost: (stretch: string) => void,
): Generator<Row> {
  return table.key === undefined
    ? readByRowid(db, table, onLost)
    : readFromBothEnds(db, { ...table, key: table.key }, onLost)
}

function* readByRowid(
  db: Sqlite,
  { name, columns }: TableToRead,
  onLost: (stretch: string) => void,
): Generator<Row> {
  const from = `FROM ${name} NOT INDEXED WHERE rowid >= ? ORDER BY rowid LIMIT`
  const rows = db.prepare<[bigint], Row>(`SELECT rowid, ${columns.join(', ')} ${from} ${CHUNK}`).raw()
  const row = db.prepare<[bigint], Row>(`SELECT rowid, ${columns.join(', ')} ${from} 1`).raw()
  const key = db.prepare<[bigint], bigint>(`SELECT rowid ${from} 1`).pluck()
  for (const statement of [rows, row, key]) statement.safeIntegers()

  let next = 0n
  let single = 0
  for (;;) {
    if (single === 0) {
      const chunk = unlessDamaged(() => rows.all(next))
      if (chunk === undefined) single = CHUNK
      else {
        yield* chunk
        const last = chunk.at(-1)?.[0] as bigint | undefined
        if (last === undefined || chunk.length < CHUNK) return
        next = last + 1n
        continue
      }
    }
    single--
    const found = unlessDamaged(() => row.get(next) ?? 'end')
    if (found === 'end') return
    if (found !== undefined) {
      yield found
      next = (found[0] as bigint) + 1n
      continue
    }
    const damagedRow = unlessDamaged(() => key.get(next) ?? 'end')
    if (damagedRow === 'end') return
    if (damagedRow !== undefined) {
      onLost(`row ${damagedRow}`)
      next = damagedRow + 1n
      continue
    }
    const beyond = firstReadable(next, (rowid) => unlessDamaged(() => key.get(rowid) ?? 'end') !== undefined)
    onLost(beyond === undefined ? `rows from ${next} on` : `rows ${next} to ${beyond - 1n}`)
    if (beyond === undefined) return
    next = beyond
  }
}

/** The first rowid from which on there is something to read: found closely at first, then in growing steps. */
function firstReadable(damaged: bigint, isReadable: (rowid: bigint) => boolean): bigint | undefined {
  let last = damaged
  for (let at = 0; at < CLOSE_LOOK; at++) {
    if (isReadable(++last)) return last
  }
  for (let step = 1n; last + step < LAST_ROWID; step *= 2n) {
    if (isReadable(last + step)) return between(last, last + step, isReadable)
    last += step
  }
  return undefined
}

function between(damaged: bigint, readable: bigint, isReadable: (rowid: bigint) => boolean): bigint {
  let [low, high] = [damaged, readable]
  while (high - low > 1n) {
    const middle = (low + high) / 2n
    if (isReadable(middle)) high = middle
    else low = middle
  }
  return high
}

/** A table without rowids: from its beginning up to the damage, and from its end back to it. */
function* readFromBothEnds(
  db: Sqlite,
  { name, columns, key }: TableToRead & { key: readonly string[] },
  onLost: (stretch: string) => void,
): Generator<Row> {
  for (const direction of ['ASC', 'DESC']) {
    const order = key.map((column) => `${column} ${direction}`).join(', ')
    const rows = db
      .prepare<[], Row>(`SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${order}`)
      .raw()
      .safeIntegers()
      .iterate()
    try {
      let next = unlessDamaged(() => rows.next())
      for (; next !== undefined && next.done !== true; next = unlessDamaged(() => rows.next()))
        yield next.value
      if (next !== undefined) return
    } finally {
      rows.return?.()
    }
  }
  onLost('rows in its midst')
}

/** What `read` gives; undefined when the pages that it needs are damaged. */
function unlessDamaged<T extends object | bigint | string>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (storageFault(error) === undefined) throw error
    return undefined
  }
}
