import { isDamage, type Sqlite } from '../../src/store/sqlite/open-database.ts'

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
/** Rows that stand in the wrong order and are read all the same; a page that leads round in a circle has no end of them. */
const MAX_STRAYS = 100_000
const LAST_ROWID = 2 ** 53
const GREATEST_ROWID = 2n ** 63n - 1n

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
  const from = `FROM ${name} NOT INDEXED WHERE rowid >= ? ORDER BY rowid`
  const rows = db.prepare<[bigint], Row>(`SELECT rowid, ${columns.join(', ')} ${from}`).raw()
  const row = db.prepare<[bigint], Row>(`SELECT rowid, ${columns.join(', ')} ${from} LIMIT 1`).raw()
  const key = db.prepare<[bigint], bigint>(`SELECT rowid ${from} LIMIT 1`).pluck()
  for (const statement of [rows, row, key]) statement.safeIntegers()
  /** A rowid before the one asked for is damage as well: its page stands in the wrong place, and leads round in a circle. */
  const unlessBefore = <T>(asked: bigint, found: T, rowid: unknown): T | undefined =>
    typeof rowid === 'bigint' && rowid >= asked ? found : undefined
  const keyFrom = (asked: bigint): bigint | 'end' | undefined => {
    const found = unlessDamaged(() => key.get(asked) ?? 'end')
    return found === 'end' ? found : unlessBefore(asked, found, found)
  }

  let next = 0n
  let single = 0
  let strays = 0
  while (next <= GREATEST_ROWID) {
    if (single === 0) {
      for (const found of untilDamage(rows.iterate(next))) {
        const rowid = found?.[0]
        const isStray = typeof rowid === 'bigint' && rowid < next
        if (found === undefined || typeof rowid !== 'bigint' || (isStray && ++strays > MAX_STRAYS)) {
          if (isStray) onLost(`rows in the wrong order before row ${next}`)
          single = CHUNK
          break
        }
        yield found
        if (!isStray) next = rowid + 1n
      }
      if (single === 0) return
    }
    single--
    const from = next
    const found = unlessDamaged(() => row.get(from) ?? 'end')
    if (found === 'end') return
    if (found !== undefined && unlessBefore(next, found, found[0]) !== undefined) {
      yield found
      next = (found[0] as bigint) + 1n
      continue
    }
    const damagedRow = keyFrom(next)
    if (damagedRow === 'end') return
    if (damagedRow !== undefined) {
      onLost(`row ${damagedRow}`)
      next = damagedRow + 1n
      continue
    }
    const beyond = firstReadable(next, (rowid) => keyFrom(rowid) !== undefined)
    onLost(beyond === undefined ? `rows from ${next} on` : `rows ${next} to ${beyond - 1n}`)
    if (beyond === undefined) return
    next = beyond
  }
}

/** The rows of a statement one by one, then undefined where it cannot go on. */
function* untilDamage(rows: IterableIterator<Row>): Generator<Row | undefined> {
  try {
    let next = unlessDamaged(() => rows.next())
    for (; next !== undefined && next.done !== true; next = unlessDamaged(() => rows.next())) yield next.value
    if (next === undefined) yield undefined
  } finally {
    rows.return?.()
  }
}

/** The first rowid from which on there is something to read: found closely at first, then in growing steps. */
function firstReadable(damaged: bigint, isReadable: (rowid: bigint) => boolean): bigint | undefined {
  let last = damaged
  for (let at = 0; at < CLOSE_LOOK && last < GREATEST_ROWID; at++) {
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

/**
 * A table without rowids: from its beginning up to the damage, and from its end back to it. A key that is not beyond the one
 * before it is damage as well: a page may lead back to where the way came from, for ever.
 */
function* readFromBothEnds(
  db: Sqlite,
  { name, columns, key }: TableToRead & { key: readonly string[] },
  onLost: (stretch: string) => void,
): Generator<Row> {
  const places = key.map((column) => columns.indexOf(column))
  const keyOf = (row: Row): unknown[] => places.map((place) => row[place])
  for (const [direction, beyond] of [
    ['ASC', 1],
    ['DESC', -1],
  ] as const) {
    const order = key.map((column) => `${column} ${direction}`).join(', ')
    const rows = db
      .prepare<[], Row>(`SELECT ${columns.join(', ')} FROM ${name} ORDER BY ${order}`)
      .raw()
      .safeIntegers()
      .iterate()
    let before: unknown[] | undefined
    let isWhole = true
    for (const row of untilDamage(rows)) {
      if (row === undefined || (before !== undefined && compareKeys(keyOf(row), before) !== beyond)) {
        isWhole = false
        break
      }
      yield row
      before = keyOf(row)
    }
    if (isWhole) return
  }
  onLost('rows in its midst')
}

/** What `read` gives; undefined when the pages that it needs are damaged. */
function unlessDamaged<T extends object | bigint | string>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!isDamage(error)) throw error
    return undefined
  }
}

/** -1, 0 or 1 as SQLite orders keys: null, then numbers, then text, then bytes (sqlite.org/datatype3.html, section 4.1). */
function compareKeys(one: readonly unknown[], other: readonly unknown[]): number {
  for (const [at, value] of one.entries()) {
    const order = compareValues(value, other[at])
    if (order !== 0) return order
  }
  return 0
}

function compareValues(one: unknown, other: unknown): number {
  const rank = rankOf(one) - rankOf(other)
  if (rank !== 0) return Math.sign(rank)
  if (isNumber(one) && isNumber(other)) return one < other ? -1 : one > other ? 1 : 0
  if (typeof one === 'string' && typeof other === 'string')
    return Buffer.compare(Buffer.from(one), Buffer.from(other))
  return Buffer.isBuffer(one) && Buffer.isBuffer(other) ? Buffer.compare(one, other) : 0
}

const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint'

function rankOf(value: unknown): number {
  if (value === null || value === undefined) return 0
  if (isNumber(value)) return 1
  return typeof value === 'string' ? 2 : 3
}
