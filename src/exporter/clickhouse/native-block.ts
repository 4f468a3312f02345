/*
 * Rows in ClickHouse's format Native: column after column, as tables keep them, so that neither side has to turn values into text. Where a
 * table has another type than the block, ClickHouse converts.
 */
import { GrowingBytes } from './growing-bytes.ts'

export interface BlockColumn<Row, At> {
  readonly name: string
  /** As CREATE TABLE has it: what follows the type says how it is stored. */
  readonly type: string
  readonly of: (row: Row, at: At) => unknown
}

/** The rows of a table. Any part of them becomes a block, the same bytes each time. */
export interface Rows {
  readonly count: number
  /** Throws UnwritableValue where a value is none of its column. */
  block(from: number, upTo: number): Buffer
}

export function rowsOf<Row, At>(
  columns: readonly BlockColumn<Row, At>[],
  rows: readonly Row[],
  at: At,
): Rows {
  return { count: rows.length, block: (from, upTo) => blockOf(columns, rows.slice(from, upTo), at) }
}

/** The row that has it cannot be stored; all others can. */
export class UnwritableValue extends Error {}

/** Most rows have fewer. */
const ROW_BYTES = 192

function blockOf<Row, At>(columns: readonly BlockColumn<Row, At>[], rows: readonly Row[], at: At): Buffer {
  const block = new GrowingBytes(rows.length * ROW_BYTES)
  block.varint(columns.length)
  block.varint(rows.length)
  for (const { name, type, of } of columns) {
    const [plainType = ''] = type.split(/ (?:CODEC|DEFAULT)\b/, 1)
    const column = columnOf(plainType, rows.length)
    for (const row of rows) column.add(of(row, at))
    block.text(name)
    block.text(plainType)
    column.writePrefix(block)
    column.write(block)
  }
  return block.written()
}

/** The values of a column, or of what is within one. */
interface Column {
  add(value: unknown): void
  /** Comes before all values of the whole column. */
  writePrefix(to: GrowingBytes): void
  write(to: GrowingBytes): void
}

function columnOf(type: string, rows: number): Column {
  const [, outer = '', inner = ''] = /^(\w+)(?:\((.*)\))?$/.exec(type) ?? []
  switch (outer) {
    case 'String':
      return new Plain(rows, (to, value) => to.text(value as string))
    case 'LowCardinality':
      return new Words(inner.startsWith('Nullable'))
    case 'UUID':
      return new Plain(2 * rows, writeUuid)
    case 'UInt8':
      return new Plain(rows, (to, value) => to.uint8(value as number))
    case 'Date':
      return new Plain(rows, (to, value) => to.uint16(value as number))
    case 'UInt32':
      return new Plain(rows, (to, value) => to.uint32(value as number))
    case 'UInt64':
    case 'Int64':
    case 'DateTime64':
      return new Plain(rows, (to, value) => to.int64(value as bigint | number))
    case 'Float64':
      return new Plain(rows, (to, value) => to.float64(value as number))
    case 'Nullable':
      return new Optional(columnOf(inner, rows), ZEROS.get(inner.split('(', 1)[0] ?? '') ?? 0)
    case 'Array':
      return new Lists(columnOf(inner, rows))
    case 'Map': {
      const [key = '', value = ''] = inner.split(/, (?=\w+$)/)
      return new Maps(columnOf(key, rows), columnOf(value, rows))
    }
    default:
      throw new Error(`no column of an archive is a ${type}`)
  }
}

/** What stands where there is no value. */
const ZEROS = new Map<string, unknown>([
  ['String', ''],
  ['UUID', '0'.repeat(32)],
])

/** Hexadecimal digits with or without dashes. ClickHouse keeps two numbers of 64 bits. */
function writeUuid(to: GrowingBytes, value: unknown): void {
  if (!to.halvesOfUuid(value as string)) throw new UnwritableValue(`${String(value)} is no UUID`)
}

const WORD_BYTES = 8

class Plain implements Column {
  readonly #bytes: GrowingBytes
  readonly #put: (to: GrowingBytes, value: unknown) => void

  constructor(words: number, put: (to: GrowingBytes, value: unknown) => void) {
    this.#bytes = new GrowingBytes(WORD_BYTES * words)
    this.#put = put
  }

  add(value: unknown): void {
    this.#put(this.#bytes, value)
  }

  writePrefix(): void {
    // There is none.
  }

  write(to: GrowingBytes): void {
    to.append(this.#bytes)
  }
}

const WITH_SHARED_KEYS = 1
/** The keys come with the block, and no others are meant. */
const OWN_KEYS = 0x600

/** Texts that are often the same: each once, and where they stand. Where there may be NULL, the first stands for it. */
class Words implements Column {
  readonly #places = new Map<unknown, number>()
  readonly #keys = new GrowingBytes()
  readonly #rows: number[] = []
  #count = 0
  #last: unknown
  #lastPlace = 0

  constructor(isNullable: boolean) {
    if (!isNullable) return
    this.#placed('')
    this.#places.clear()
    this.#places.set(null, 0)
  }

  add(value: unknown): void {
    if (value !== this.#last) {
      this.#lastPlace = this.#places.get(value) ?? this.#placed(value)
      this.#last = value
    }
    this.#rows.push(this.#lastPlace)
  }

  #placed(value: unknown): number {
    this.#keys.text(value as string)
    this.#places.set(value, this.#count)
    return this.#count++
  }

  writePrefix(to: GrowingBytes): void {
    to.int64(WITH_SHARED_KEYS)
  }

  write(to: GrowingBytes): void {
    if (this.#rows.length === 0) return
    const width = this.#count <= 0x100 ? 0 : this.#count <= 0x10000 ? 1 : 2
    to.int64(OWN_KEYS + width)
    to.int64(this.#count)
    to.append(this.#keys)
    to.int64(this.#rows.length)
    if (width === 0) for (const place of this.#rows) to.uint8(place)
    else if (width === 1) for (const place of this.#rows) to.uint16(place)
    else for (const place of this.#rows) to.uint32(place)
  }
}

class Optional implements Column {
  readonly #isNull = new GrowingBytes()
  readonly #inner: Column
  readonly #zero: unknown

  constructor(inner: Column, zero: unknown) {
    this.#inner = inner
    this.#zero = zero
  }

  add(value: unknown): void {
    this.#isNull.uint8(value === null ? 1 : 0)
    this.#inner.add(value ?? this.#zero)
  }

  writePrefix(to: GrowingBytes): void {
    this.#inner.writePrefix(to)
  }

  write(to: GrowingBytes): void {
    to.append(this.#isNull)
    this.#inner.write(to)
  }
}

class Lists implements Column {
  readonly #ends = new GrowingBytes()
  readonly #inner: Column
  #count = 0

  constructor(inner: Column) {
    this.#inner = inner
  }

  add(value: unknown): void {
    const list = value as readonly unknown[]
    for (const one of list) this.#inner.add(one)
    this.#ends.int64((this.#count += list.length))
  }

  writePrefix(to: GrowingBytes): void {
    this.#inner.writePrefix(to)
  }

  write(to: GrowingBytes): void {
    to.append(this.#ends)
    this.#inner.write(to)
  }
}

/** Each is a list of keys and values in turn. */
class Maps implements Column {
  readonly #ends = new GrowingBytes()
  readonly #keys: Column
  readonly #values: Column
  #count = 0

  constructor(keys: Column, values: Column) {
    this.#keys = keys
    this.#values = values
  }

  add(value: unknown): void {
    const pairs = value as readonly unknown[]
    for (let at = 0; at < pairs.length; at += 2) {
      this.#keys.add(pairs[at])
      this.#values.add(pairs[at + 1])
    }
    this.#ends.int64((this.#count += pairs.length / 2))
  }

  writePrefix(to: GrowingBytes): void {
    this.#keys.writePrefix(to)
    this.#values.writePrefix(to)
  }

  write(to: GrowingBytes): void {
    to.append(this.#ends)
    this.#keys.write(to)
    this.#values.write(to)
  }
}
