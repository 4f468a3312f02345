/*
 * Rows in ClickHouse's Native format: column by column, as tables store them, without conversion to text. If a table's column has another
 * type than the block's, ClickHouse converts.
 */

export interface BlockColumn<Row, At> {
  readonly name: string
  /** The type as in CREATE TABLE, with CODEC and DEFAULT. */
  readonly type: string
  readonly of: (row: Row, at: At) => unknown
}

/** The rows of a table. Encoding the same range gives the same bytes. */
export interface Rows {
  readonly count: number
  /** Throws UnwritableValue if a value does not fit its column. */
  block(from: number, upTo: number): Buffer
}

export function rowsOf<Row, At>(
  columns: readonly BlockColumn<Row, At>[],
  rows: readonly Row[],
  at: At,
): Rows {
  return { count: rows.length, block: (from, upTo) => blockOf(columns, rows.slice(from, upTo), at) }
}

/** A value that its column cannot store. Other rows are not affected. */
export class UnwritableValue extends Error {}

/** The expected size of a row; most are smaller. */
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

/** The values of a column, or of a nested type in one. */
interface Column {
  add(value: unknown): void
  /** Writes the serialization prefix before the values of the column. */
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
      return new Lists([columnOf(inner, rows)])
    case 'Map': {
      const [key = '', value = ''] = inner.split(/, (?=\w+$)/)
      return new Lists([columnOf(key, rows), columnOf(value, rows)])
    }
    default:
      throw new Error(`no column of an archive is a ${type}`)
  }
}

/** The value written for NULL. */
const ZEROS = new Map<string, unknown>([
  ['String', ''],
  ['UUID', '0'.repeat(32)],
])

/** Writes a UUID, given as hex digits with or without dashes, as two 64-bit numbers. */
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
    // Plain types have no prefix.
  }

  write(to: GrowingBytes): void {
    to.append(this.#bytes)
  }
}

const WITH_SHARED_KEYS = 1
/** Flags: the block has its own dictionary and uses no other. */
const OWN_KEYS = 0x600

/** LowCardinality: a dictionary of distinct texts, and an index for each row. In a nullable column, index 0 is NULL. */
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

/** Array and Map: end offsets and the values; a Map has one column of keys and one of values. */
class Lists implements Column {
  readonly #ends = new GrowingBytes()
  readonly #inner: readonly Column[]
  #count = 0

  constructor(inner: readonly Column[]) {
    this.#inner = inner
  }

  add(value: unknown): void {
    const list = value as readonly unknown[]
    for (let at = 0; at < list.length;) for (const one of this.#inner) one.add(list[at++])
    this.#ends.int64((this.#count += list.length / this.#inner.length))
  }

  writePrefix(to: GrowingBytes): void {
    for (const one of this.#inner) one.writePrefix(to)
  }

  write(to: GrowingBytes): void {
    to.append(this.#ends)
    for (const one of this.#inner) one.write(to)
  }
}

const FIRST_BYTES = 256
/** Up to this length, a loop is faster than `Buffer.write`. */
const SHORT = 48
const HALF = 0x1_0000_0000
const UUID_BYTES = 16
const DASH = 0x2d
const NO_DIGIT = 0xff

const DIGITS = new Uint8Array(0x100).fill(NO_DIGIT)
for (let digit = 0; digit < 16; digit++) {
  const text = digit.toString(16)
  DIGITS[text.charCodeAt(0)] = digit
  DIGITS[text.toUpperCase().charCodeAt(0)] = digit
}

/** A growing buffer of little-endian values. */
class GrowingBytes {
  #bytes: Buffer
  #view: DataView
  #length = 0

  constructor(expected = FIRST_BYTES) {
    this.#bytes = Buffer.allocUnsafe(expected)
    this.#view = viewOf(this.#bytes)
  }

  /** The bytes so far; they share memory with later writes. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  uint8(value: number): void {
    const at = this.#take(1)
    this.#bytes[at] = value
  }

  uint16(value: number): void {
    const at = this.#take(2)
    this.#view.setUint16(at, value, true)
  }

  uint32(value: number): void {
    const at = this.#take(4)
    this.#view.setUint32(at, value, true)
  }

  /** Writes a signed or unsigned integer, modulo 2^64. */
  int64(value: bigint | number): void {
    const at = this.#take(8)
    if (typeof value === 'bigint') {
      this.#view.setBigUint64(at, value, true)
      return
    }
    this.#view.setUint32(at, value, true)
    this.#view.setInt32(at + 4, Math.floor(value / HALF), true)
  }

  float64(value: number): void {
    const at = this.#take(8)
    this.#view.setFloat64(at, value, true)
  }

  varint(value: number): void {
    let rest = value
    for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) this.uint8((rest % 0x80) | 0x80)
    this.uint8(rest)
  }

  /** Writes the length in bytes as a varint, then the bytes. */
  text(value: string): void {
    if (value.length < SHORT && this.#short(value)) return
    const size = Buffer.byteLength(value)
    this.varint(size)
    const at = this.#take(size)
    this.#bytes.write(value, at)
  }

  /** Writes a short ASCII text; false if it has other characters. */
  #short(value: string): boolean {
    const { length } = value
    const begins = this.#length
    const at = this.#take(length + 1)
    const bytes = this.#bytes
    bytes[at] = length
    for (let place = 0; place < length; place++) {
      const code = value.charCodeAt(place)
      if (code > 0x7f) {
        this.#length = begins
        return false
      }
      bytes[at + 1 + place] = code
    }
    return true
  }

  /** Writes a UUID as two 64-bit numbers; false if the text is not a UUID, with or without dashes. */
  halvesOfUuid(text: string): boolean {
    const start = this.#take(UUID_BYTES)
    const bytes = this.#bytes
    let count = 0
    for (let at = 0; at < text.length; at += 2) {
      if (text.charCodeAt(at) === DASH) at++
      const high = DIGITS[text.charCodeAt(at)] ?? NO_DIGIT
      const low = DIGITS[text.charCodeAt(at + 1)] ?? NO_DIGIT
      if (high === NO_DIGIT || low === NO_DIGIT || count === UUID_BYTES) return false
      bytes[start + (count ^ 7)] = (high << 4) | low
      count++
    }
    return count === UUID_BYTES
  }

  append(other: GrowingBytes): void {
    const at = this.#take(other.#length)
    other.#bytes.copy(this.#bytes, at, 0, other.#length)
  }

  /** Reserves bytes, and returns their position. */
  #take(size: number): number {
    const at = this.#length
    this.#length += size
    if (this.#length > this.#bytes.length) this.#grow(at)
    return at
  }

  #grow(used: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#length, 2 * this.#bytes.length))
    this.#bytes.copy(grown, 0, 0, used)
    this.#bytes = grown
    this.#view = viewOf(grown)
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength)
}
