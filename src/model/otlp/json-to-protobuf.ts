import { WireType } from '@bufbuild/protobuf/wire'
import type { Signal } from '../otlp-requests.ts'
import { JsonCursor } from './json-cursor.ts'
import {
  type EnumName,
  ENUMS,
  EXPORT_REQUEST,
  type Field,
  MAX_DEPTH,
  type MessageName,
  MESSAGES,
} from './message-schema.ts'
import { ItemCount, type ItemKind, MalformedOtlp } from './protobuf-wire.ts'

/** The fields of a message by name. Names are compared as bytes, so that no strings are made. */
class FieldNames {
  /** By length of the name. */
  readonly #fields: { readonly name: Buffer; readonly field: Field }[][] = []

  constructor(fields: readonly Field[]) {
    for (const field of fields) {
      const name = Buffer.from(field.name)
      ;(this.#fields[name.length] ??= []).push({ name, field })
    }
  }

  /** The field whose name the cursor read last. */
  find({ bytes, start, end }: JsonCursor): Field | undefined {
    for (const { name, field } of this.#fields[end - start] ?? []) if (isAt(name, bytes, start)) return field
    return undefined
  }
}

function isAt(name: Buffer, bytes: Buffer, start: number): boolean {
  for (let at = 0; at < name.length; at++) if (bytes[start + at] !== name[at]) return false
  return true
}

const FIELDS = new Map(Object.entries(MESSAGES).map(([name, fields]) => [name, new FieldNames(fields)]))

/** The messages that become objects when the request is decoded. */
const ITEMS: Partial<Record<MessageName, ItemKind>> = {
  ResourceSpans: 'resources',
  ResourceLogs: 'resources',
  ResourceMetrics: 'resources',
  ScopeSpans: 'scopes',
  ScopeLogs: 'scopes',
  ScopeMetrics: 'scopes',
  Span: 'spans',
  LogRecord: 'log records',
  Metric: 'metrics',
  NumberDataPoint: 'data points',
  HistogramDataPoint: 'data points',
  ExponentialHistogramDataPoint: 'data points',
  SummaryDataPoint: 'data points',
}

/**
 * Converts an OTLP/JSON export request to protobuf (OTLP specification, JSON Protobuf Encoding): ids are hex digits in either case, 64-bit
 * integers are numbers or strings, enums are integers or names, null means absent, and unknown members are ignored. An id that is not hex
 * becomes an empty one, so that only its span is refused. Throws MalformedOtlp, naming the member, if the JSON is not such a request, is
 * nested deeper than MAX_DEPTH, or holds too many items for its length.
 */
export function protobufOfJson(signal: Signal, body: Uint8Array): Uint8Array {
  const transcoding = new Transcoding(body)
  transcoding.request(EXPORT_REQUEST[signal])
  return transcoding.writer.finish()
}

class Transcoding {
  readonly writer: ProtobufWriter
  readonly #json: JsonCursor
  readonly #count: ItemCount
  readonly #path: (string | number)[] = []
  #depth = 0

  constructor(body: Uint8Array) {
    this.#json = new JsonCursor(body)
    // Protobuf is about half as long as JSON.
    this.writer = new ProtobufWriter(body.length / 2)
    this.#count = new ItemCount(body.length)
  }

  request(name: MessageName): void {
    try {
      this.#message(name)
      this.#json.finish()
    } catch (error) {
      throw error instanceof MalformedOtlp ? new MalformedOtlp(`${this.#where()}: ${error.message}`) : error
    }
  }

  #message(name: MessageName): void {
    this.#mustBe('object')
    if (++this.#depth > MAX_DEPTH) throw new MalformedOtlp(`messages are nested more than ${MAX_DEPTH} deep`)
    const fields = FIELDS.get(name)
    const json = this.#json
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      const field = fields?.find(json)
      if (field === undefined || json.kind() === 'null') {
        json.skip()
        continue
      }
      this.#path.push(field.name)
      if (field.occurs === 'many') this.#repeated(field)
      else this.#value(field)
      this.#path.pop()
    }
    this.#depth--
  }

  #repeated(field: Field): void {
    this.#mustBe('array')
    const json = this.#json
    let index = 0
    for (let more = json.enterArray(); more; more = json.nextElement()) {
      this.#path.push(index++)
      this.#value(field)
      this.#path.pop()
    }
  }

  #value(field: Field): void {
    if (field.type === 'scalar') {
      writeJsonScalar(this.writer, field, this.#json)
      return
    }
    const kind = ITEMS[field.message]
    if (kind !== undefined) this.#count.add(kind)
    this.writer.begin(field.no)
    this.#message(field.message)
    this.writer.end()
  }

  #mustBe(kind: 'object' | 'array'): void {
    const found = this.#json.kind()
    if (found !== kind) throw new MalformedOtlp(`expected an ${kind}, found a JSON ${found}`)
  }

  #where(): string {
    return this.#path.reduce<string>(
      (path, step) => (typeof step === 'number' ? `${path}[${step}]` : `${path}.${step}`),
      '$',
    )
  }
}

type ScalarField = Extract<Field, { type: 'scalar' }>

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/
const INTEGER = /^-?[0-9]+$/
const DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$/
/** The longest number in characters: converting digits to a bigint takes quadratic time. */
const MAX_NUMBER_LENGTH = 400
const MAX_SHOWN_NAMES = 6
const MAX_SHOWN_LENGTH = 100
const NUMBERS_BY_NAME = new Map<string, ReadonlyMap<string, bigint>>(
  Object.entries(ENUMS).map(([name, values]) => [
    name,
    new Map(values.map((value, number) => [value, BigInt(number)])),
  ]),
)
const NOT_FINITE = ['NaN', 'Infinity', '-Infinity']
const RANGE = {
  enum: { min: -(2n ** 31n), max: 2n ** 31n - 1n },
  uint32: { min: 0n, max: 2n ** 32n - 1n },
  sint32: { min: -(2n ** 31n), max: 2n ** 31n - 1n },
  fixed32: { min: 0n, max: 2n ** 32n - 1n },
  int64: { min: -(2n ** 63n), max: 2n ** 63n - 1n },
  uint64: { min: 0n, max: 2n ** 64n - 1n },
  fixed64: { min: 0n, max: 2n ** 64n - 1n },
  sfixed64: { min: -(2n ** 63n), max: 2n ** 63n - 1n },
}

/** The number of bits of a non-negative number of each kind. */
const BITS: Readonly<Record<keyof typeof RANGE, number>> = {
  enum: 31,
  uint32: 32,
  sint32: 31,
  fixed32: 32,
  int64: 63,
  uint64: 64,
  fixed64: 64,
  sfixed64: 63,
}

/**
 * Converts a scalar to protobuf. A default value is left out unless the field has presence. Throws MalformedOtlp if the JSON value has the
 * wrong type.
 */
function writeJsonScalar(writer: ProtobufWriter, field: ScalarField, json: JsonCursor): void {
  const always = field.occurs !== 'one'
  switch (field.kind) {
    case 'string':
    case 'bytes':
    case 'hexBytes':
      if (json.kind() !== 'string') throw wrongKind('a string', json)
      json.string()
      writeString(writer, field.no, field.kind, always, json)
      return
    case 'bool': {
      if (json.kind() !== 'boolean') throw wrongKind('true or false', json)
      const value = json.boolean()
      if (always || value) writer.varint64(field.no, 0, value ? 1 : 0)
      return
    }
    case 'double': {
      const value = doubleOf(json)
      if (always || value !== 0) writer.double(field.no, value)
      return
    }
    case 'enum':
    case 'uint32':
    case 'sint32':
    case 'fixed32':
    case 'int64':
    case 'uint64':
    case 'fixed64':
    case 'sfixed64':
      if (!json.integer(BITS[field.kind], field.kind !== 'enum')) {
        const value = BigInt.asUintN(
          64,
          field.kind === 'enum' ? enumOf(field.values, json) : integerOf(field.kind, json),
        )
        json.high = Number(value >> 32n)
        json.low = Number(value & 0xffff_ffffn)
      }
      if (always || json.high !== 0 || json.low !== 0) writeInteger(writer, field.no, field.kind, json)
  }
}

function writeString(
  writer: ProtobufWriter,
  no: number,
  kind: 'string' | 'bytes' | 'hexBytes',
  always: boolean,
  { bytes, start, end }: JsonCursor,
): void {
  if (kind === 'string') {
    if (always || end > start) writer.bytes(no, bytes, start, end)
    return
  }
  if (kind === 'hexBytes') {
    const isHex = isHexadecimal(bytes, start, end)
    if (always || (isHex && end > start)) writer.hex(no, bytes, start, isHex ? end : start)
    return
  }
  const digits = bytes.toString('latin1', start, end)
  if (!BASE64.test(digits)) throw new MalformedOtlp('expected base64')
  const value = Buffer.from(digits, 'base64')
  if (always || value.length > 0) writer.bytes(no, value, 0, value.length)
}

function writeInteger(
  writer: ProtobufWriter,
  no: number,
  kind: keyof typeof RANGE,
  { high, low }: JsonCursor,
): void {
  switch (kind) {
    case 'sint32':
      // Zigzag encoding: the sign is the lowest bit (protobuf, Encoding).
      writer.varint64(no, 0, ((low << 1) ^ (low >> 31)) >>> 0)
      return
    case 'fixed32':
      writer.fixed32(no, low)
      return
    case 'enum':
    case 'uint32':
    case 'int64':
    case 'uint64':
      writer.varint64(no, high, low)
      return
    case 'fixed64':
    case 'sfixed64':
      writer.fixed64(no, high, low)
  }
}

function enumOf(of: EnumName, json: JsonCursor): bigint {
  if (json.kind() !== 'string') return integerOf('enum', json)
  json.string()
  return numberOfName(of, json.lastString)
}

/** The value of each hex digit, by its byte; NONE for other bytes. */
const NONE = 0xff
const HEX_DIGITS = Uint8Array.from({ length: 256 }, (_, byte) => {
  const value = Number.parseInt(String.fromCharCode(byte), 16)
  return Number.isNaN(value) ? NONE : value
})

function isHexadecimal(bytes: Buffer, start: number, end: number): boolean {
  if ((end - start) % 2 !== 0) return false
  for (let at = start; at < end; at++) if (HEX_DIGITS[bytes[at] ?? 0] === NONE) return false
  return true
}

/** The OTLP specification requires integers for enums. The Collector and Tempo accept names too. */
function numberOfName(of: EnumName, name: string): bigint {
  const number = NUMBERS_BY_NAME.get(of)?.get(name)
  if (number !== undefined) return number
  const names: readonly string[] = ENUMS[of]
  const listed = names.length > MAX_SHOWN_NAMES ? [...names.slice(0, 2), '...', ...names.slice(-1)] : names
  const shown = name.length > MAX_SHOWN_LENGTH ? `a text of ${name.length} characters` : JSON.stringify(name)
  throw new MalformedOtlp(`${shown} is not a ${of}; write a number, or one of the names ${listed.join(', ')}`)
}

function integerOf(kind: keyof typeof RANGE, json: JsonCursor): bigint {
  const text =
    kind === 'enum'
      ? numberText('an integer or a name', false, json)
      : numberText('an integer or a string of one', true, json)
  const value = INTEGER.test(text) ? BigInt(text) : wholeNumber(text)
  if (value === undefined) throw new MalformedOtlp(`expected an integer, found "${text}"`)
  if (value < RANGE[kind].min || value > RANGE[kind].max) throw new MalformedOtlp(`${text} is out of range`)
  return value
}

/** The integer value of a number with a fraction or exponent, such as 1.5e3: JSON has no integer type. */
function wholeNumber(text: string): bigint | undefined {
  const value = Number(text)
  return DECIMAL.test(text) && Number.isInteger(value) ? BigInt(value) : undefined
}

function doubleOf(json: JsonCursor): number {
  const text = numberText('a number', true, json)
  const value = Number(text)
  if (NOT_FINITE.includes(text) || (DECIMAL.test(text) && Number.isFinite(value))) return value
  throw new MalformedOtlp(`expected a number, found "${text}"`)
}

function numberText(expected: string, orString: boolean, json: JsonCursor): string {
  const kind = json.kind()
  if (kind !== 'number' && !(kind === 'string' && orString)) throw wrongKind(expected, json)
  let text: string
  if (kind === 'number') text = json.number()
  else {
    json.string()
    text = json.bytes.toString('latin1', json.start, json.end)
  }
  if (text.length > MAX_NUMBER_LENGTH)
    throw new MalformedOtlp(`expected ${expected}, found ${text.length} characters`)
  return text
}

function wrongKind(expected: string, json: JsonCursor): MalformedOtlp {
  return new MalformedOtlp(`expected ${expected}, found a JSON ${json.kind()}`)
}

/** The longest varint of 64 bits. */
const MAX_VARINT_BYTES = 10
const LONGEST_SCALAR = 2 * MAX_VARINT_BYTES
const MOST_COPIED_SINGLY = 64

/**
 * Writes a protobuf message into one growing buffer. Nested messages need no objects: one byte is reserved for the length, and the content
 * is moved if the length needs more.
 */
class ProtobufWriter {
  #bytes: Buffer<ArrayBuffer>
  #length = 0
  /** The starts of the messages that have not ended. */
  readonly #begun: number[] = []

  /** `size`: the expected size. */
  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(LONGEST_SCALAR, size))
  }

  /** Begins a nested message; what is written until `end` belongs to it. */
  begin(no: number): void {
    this.#makeRoom(LONGEST_SCALAR)
    this.#tag(no, WireType.LengthDelimited)
    this.#bytes[this.#length++] = 0
    this.#begun.push(this.#length)
  }

  end(): void {
    const start = this.#begun.pop() ?? 0
    const size = this.#length - start
    if (size < 0x80) {
      this.#bytes[start - 1] = size
      return
    }
    this.#makeRoom(MAX_VARINT_BYTES)
    const more = varintBytes(size) - 1
    this.#bytes.copyWithin(start + more, start, this.#length)
    this.#length = start - 1
    this.#varint(size)
    this.#length += size
  }

  bytes(no: number, from: Buffer, start: number, end: number): void {
    const length = end - start
    this.#makeRoom(LONGEST_SCALAR + length)
    this.#tag(no, WireType.LengthDelimited)
    this.#varint(length)
    const bytes = this.#bytes
    const to = this.#length
    // For a few bytes, a loop is faster than a call of native code.
    if (length > MOST_COPIED_SINGLY) from.copy(bytes, to, start, end)
    else for (let at = 0; at < length; at++) bytes[to + at] = from[start + at] ?? 0
    this.#length = to + length
  }

  /** Writes bytes that are given as an even number of hex digits. */
  hex(no: number, digits: Buffer, start: number, end: number): void {
    const length = (end - start) / 2
    this.#makeRoom(LONGEST_SCALAR + length)
    this.#tag(no, WireType.LengthDelimited)
    this.#varint(length)
    for (let at = start; at < end; at += 2)
      this.#bytes[this.#length++] =
        ((HEX_DIGITS[digits[at] ?? 0] ?? 0) << 4) | (HEX_DIGITS[digits[at + 1] ?? 0] ?? 0)
  }

  /** Writes a 64-bit integer as a varint, a negative one in two's complement. */
  varint64(no: number, high: number, low: number): void {
    this.#makeRoom(LONGEST_SCALAR)
    this.#tag(no, WireType.Varint)
    let upper = high
    let lower = low
    while (upper !== 0 || lower >= 0x80) {
      this.#bytes[this.#length++] = (lower & 0x7f) | 0x80
      lower = ((lower >>> 7) | (upper << 25)) >>> 0
      upper >>>= 7
    }
    this.#bytes[this.#length++] = lower
  }

  double(no: number, value: number): void {
    this.#makeRoom(LONGEST_SCALAR)
    this.#tag(no, WireType.Bit64)
    this.#length = this.#bytes.writeDoubleLE(value, this.#length)
  }

  fixed32(no: number, value: number): void {
    this.#makeRoom(LONGEST_SCALAR)
    this.#tag(no, WireType.Bit32)
    this.#length = this.#bytes.writeUInt32LE(value, this.#length)
  }

  fixed64(no: number, high: number, low: number): void {
    this.#makeRoom(LONGEST_SCALAR)
    this.#tag(no, WireType.Bit64)
    this.#length = this.#bytes.writeUInt32LE(low, this.#length)
    this.#length = this.#bytes.writeUInt32LE(high, this.#length)
  }

  /** A copy of the message, of exactly its size. */
  finish(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#bytes.subarray(0, this.#length))
  }

  #tag(no: number, wire: WireType): void {
    this.#varint(no * 8 + wire)
  }

  #varint(value: number): void {
    let left = value
    for (; left >= 0x80; left = Math.floor(left / 0x80)) this.#bytes[this.#length++] = (left % 0x80) | 0x80
    this.#bytes[this.#length++] = left
  }

  #makeRoom(more: number): void {
    const needed = this.#length + more
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

function varintBytes(value: number): number {
  let bytes = 1
  for (let left = value; left >= 0x80; left = Math.floor(left / 0x80)) bytes++
  return bytes
}
