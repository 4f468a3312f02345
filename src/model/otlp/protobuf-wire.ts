import { AUDIT_ID, CLUSTER_NAME, POD_UID, SERVICE_NAME } from '../attributes.ts'

export const VARINT = 0
export const FIXED64 = 1
export const LENGTH = 2
const FIXED32 = 5
/** The longest string that is decoded for lookups and indexes, in bytes. */
export const MAX_TEXT_BYTES = 4_096

/** A Buffer that shares the memory of the bytes. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** A reused scratch buffer: Buffer's own methods for int64 allocate three more BigInts each. */
const eightBytes = new DataView(new ArrayBuffer(8))

/** A span id as a signed big-endian integer. */
export function readSpanId(bytes: Buffer, at: number): bigint {
  eightBytes.setInt32(0, bytes.readInt32BE(at))
  eightBytes.setInt32(4, bytes.readInt32BE(at + 4))
  return eightBytes.getBigInt64(0)
}

/**
 * Reads the fields of a protobuf message without building objects. After `next()`, `field` is the field number. The content of a
 * length-delimited field is at [start, end), a fixed-size value begins at `start`, and a varint's value is in `value` (exact up to 2^53).
 */
export class WireCursor {
  field = 0
  wire = 0
  start = 0
  end = 0
  value = 0
  /** Where the tag of the current field begins; the field ends at `pos`. */
  tagAt = 0
  pos: number
  readonly bytes: Buffer
  #limit: number

  constructor(bytes: Buffer, from = 0, to = bytes.length) {
    this.bytes = bytes
    this.pos = from
    this.#limit = to
  }

  /** Moves the cursor to another message in the same bytes. */
  reset(from: number, to: number): void {
    this.pos = from
    this.#limit = to
  }

  /** Moves to the next field; false at the end. Throws MalformedOtlp if the bytes are malformed. */
  next(): boolean {
    if (this.pos >= this.#limit) return false
    this.tagAt = this.pos
    // Fast path: nearly all tags and lengths have one byte.
    const tag = this.#isOneByte() ? (this.bytes[this.pos++] ?? 0) : this.#varint()
    this.field = tag < 0x80 ? tag >> 3 : Math.floor(tag / 8)
    this.wire = tag % 8
    if (this.field === 0) throw new MalformedOtlp(`field number 0 at byte ${this.tagAt}`)
    switch (this.wire) {
      case LENGTH: {
        const length = this.#isOneByte() ? (this.bytes[this.pos++] ?? 0) : this.#varint()
        this.start = this.pos
        this.end = this.pos + length
        break
      }
      case VARINT:
        this.start = this.pos
        this.value = this.#varint()
        this.end = this.pos
        break
      case FIXED64:
        this.start = this.pos
        this.end = this.pos + 8
        break
      case FIXED32:
        this.start = this.pos
        this.end = this.pos + 4
        break
      default:
        throw new MalformedOtlp(`wire type ${this.wire} at byte ${this.tagAt} is not used by OTLP`)
    }
    if (this.end > this.#limit)
      throw new MalformedOtlp(`field ${this.field} at byte ${this.tagAt} is cut short`)
    this.pos = this.end
    return true
  }

  /** Throws unless the current field is length-delimited. */
  expectLength(name: string): void {
    if (this.wire !== LENGTH)
      throw new MalformedOtlp(`${name} at byte ${this.tagAt} has wire type ${this.wire}`)
  }

  /** The current fixed64 field as nanoseconds, at most 2^63-1. */
  nanos(name: string): bigint {
    if (this.wire !== FIXED64)
      throw new MalformedOtlp(`${name} at byte ${this.tagAt} has wire type ${this.wire}`)
    eightBytes.setInt32(4, this.bytes.readInt32LE(this.start))
    eightBytes.setInt32(0, this.bytes.readInt32LE(this.start + 4))
    const value = eightBytes.getBigInt64(0)
    return value < 0n ? 0x7fff_ffff_ffff_ffffn : value
  }

  /** The current varint field as an int32 or enum: its low 32 bits (protobuf, Updating A Message Type). */
  int32(name: string): number {
    if (this.wire !== VARINT)
      throw new MalformedOtlp(`${name} at byte ${this.tagAt} has wire type ${this.wire}`)
    let value = 0
    for (let at = this.start, shift = 0; at < this.end && shift < 32; at++, shift += 7)
      value |= ((this.bytes[at] ?? 0) & 0x7f) << shift
    return value
  }

  /** The current field as a string, truncated to MAX_TEXT_BYTES. */
  text(): string {
    const { bytes, start } = this
    let { end } = this
    if (end - start > MAX_TEXT_BYTES) {
      end = start + MAX_TEXT_BYTES
      // Does not cut a character in two.
      while (end > start && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
    }
    return bytes.toString('utf8', start, end)
  }

  #isOneByte(): boolean {
    return this.pos < this.#limit && (this.bytes[this.pos] ?? 0x80) < 0x80
  }

  #varint(): number {
    const { bytes } = this
    let result = 0
    let scale = 1
    for (let i = 0; i < 10; i++) {
      if (this.pos >= this.#limit)
        throw new MalformedOtlp(`the message ends inside a number at byte ${this.pos}`)
      const byte = bytes[this.pos++] ?? 0
      result += (byte & 0x7f) * scale
      if (byte < 0x80) return result
      scale *= 128
    }
    throw new MalformedOtlp(`a number at byte ${this.pos} has more than ten bytes`)
  }
}

const DOT = 0x2e
const DASH = 0x2d
const LOWER_A = 0x61
const LOWER_C = 0x63
const LOWER_U = 0x75
const KEY_TAG = 0x0a

/** Field numbers of AnyValue. */
const STRING = 1
const ARRAY = 5
const LAST_MEMBER = 7

/** The value of an attribute if it is a string or an array; otherwise undefined. */
export type TextValue = string | string[] | undefined

/**
 * Whether the key of the KeyValue at [start, end) may begin with `cpid.`. A comparison of single bytes; also true for the rare KeyValue in
 * an unusual form.
 */
export function mayBeCpidAttribute(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 4) return false
  const length = bytes[start + 1] ?? 0
  if (isWrittenOtherwise(bytes, start, length)) return true
  return bytes[start + 2] === LOWER_C && bytes[start + 6] === DOT
}

/** Whether the key does not come first, has a length of several bytes, or is repeated. That is rare; such a KeyValue has to be decoded. */
function isWrittenOtherwise(bytes: Buffer, start: number, length: number): boolean {
  return bytes[start] !== KEY_TAG || length > 0x7f || bytes[start + 2 + length] === KEY_TAG
}

/** Whether a KeyValue whose key comes first may be `audit-id` or `k8s.pod.uid`, judged by the length and single bytes of the key. */
export function mayNameRequestOrPod(bytes: Buffer, start: number): boolean {
  const length = bytes[start + 1]
  if (length === AUDIT_ID.length) return bytes[start + 2] === LOWER_A && bytes[start + 7] === DASH
  return length === POD_UID.length && bytes[start + 9] === DOT && bytes[start + 10] === LOWER_U
}

/** Whether a KeyValue may be `service.name` or `k8s.cluster.name`, judged by the length of its key. */
export function maySayWho(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 4) return false
  const length = bytes[start + 1] ?? 0
  if (isWrittenOtherwise(bytes, start, length)) return true
  return length === SERVICE_NAME.length || length === CLUSTER_NAME.length
}

/** Decodes the KeyValue at [start, end). With `count`, elements of a list are counted before they are made. */
export function readAttribute(
  bytes: Buffer,
  start: number,
  end: number,
  count?: ItemCount,
): { key: string; value: TextValue } {
  const cursor = new WireCursor(bytes, start, end)
  let key = ''
  let value: TextValue
  while (cursor.next()) {
    if (cursor.field === 1 && cursor.wire === 2) key = cursor.text()
    else if (cursor.field === 2 && cursor.wire === 2)
      value = readText(bytes, cursor.start, cursor.end, value, count)
  }
  return { key, value }
}

/** Decodes an AnyValue. Its last member counts; if the message is divided into parts, they are merged (protobuf). */
function readText(
  bytes: Buffer,
  start: number,
  end: number,
  earlier: TextValue,
  count: ItemCount | undefined,
): TextValue {
  const cursor = new WireCursor(bytes, start, end)
  let value = earlier
  while (cursor.next()) {
    if (cursor.field === STRING && cursor.wire === 2) value = cursor.text()
    else if (cursor.field === ARRAY && cursor.wire === 2) {
      if (!Array.isArray(value)) value = []
      readTexts(bytes, cursor.start, cursor.end, value, count)
    } else if (cursor.field > STRING && cursor.field <= LAST_MEMBER) value = undefined
  }
  return value
}

/** Decodes the elements of an ArrayValue. An element that is not a string becomes ''. */
function readTexts(
  bytes: Buffer,
  start: number,
  end: number,
  texts: string[],
  count: ItemCount | undefined,
): void {
  const cursor = new WireCursor(bytes, start, end)
  const inner = new WireCursor(bytes)
  while (cursor.next()) {
    if (cursor.field !== 1 || cursor.wire !== 2) continue
    let text = ''
    inner.reset(cursor.start, cursor.end)
    while (inner.next()) {
      if (inner.field === STRING && inner.wire === 2) text = inner.text()
      else if (inner.field > STRING && inner.field <= LAST_MEMBER) text = ''
    }
    count?.add('references')
    texts.push(text)
  }
}

/** How many items any request may hold, whatever its size: several batches of a usual sender. */
export const FREE_ITEMS = 16_384
/** A request may hold one more item per this many bytes, so that its objects take at most a fixed multiple of its size. */
export const BYTES_AN_ITEM = 128

/**
 * The parts of a request that become objects, and the weight of each. References are short strings; most metrics and data points stay
 * bytes. Attributes, links and other events always stay bytes, and count as nothing.
 */
const PARTS = {
  resources: 1,
  scopes: 1,
  spans: 1,
  'log records': 1,
  mergelogs: 1,
  references: 0.25,
  metrics: 0.25,
  'data points': 0.25,
  'points of Pods': 1,
} as const
export type ItemKind = keyof typeof PARTS

/** Counts the items of a request, and refuses it before it makes more objects than its size allows. */
export class ItemCount {
  readonly #bytes: number
  readonly #most: number
  readonly #of = new Map<ItemKind, number>()
  #left: number

  /** `bytes` is the uncompressed size of the request. */
  constructor(bytes: number) {
    this.#bytes = bytes
    this.#most = FREE_ITEMS + Math.floor(bytes / BYTES_AN_ITEM)
    this.#left = this.#most
  }

  /** Counts an item before it is made. Throws MalformedOtlp if there are too many. */
  add(kind: ItemKind): void {
    this.#left -= PARTS[kind]
    this.#of.set(kind, (this.#of.get(kind) ?? 0) + 1)
    if (this.#left < 0) throw new MalformedOtlp(this.#sentence())
  }

  #sentence(): string {
    const found = [...this.#of].map(([kind, count]) => `${count} ${kind}`).join(', ')
    return (
      `the request has ${this.#bytes} bytes, for which at most ${this.#most} items are taken ` +
      `(${FREE_ITEMS}, and one for every ${BYTES_AN_ITEM} bytes), and begins with ${found}: ` +
      'leave out what is empty, or send fewer items in a request'
    )
  }
}

/** What reading gives, or the other where the bytes turn out to be no protobuf. */
export function unlessMalformed<T>(read: () => T, otherwise: (error: MalformedOtlp) => T): T {
  try {
    return read()
  } catch (error) {
    if (error instanceof MalformedOtlp) return otherwise(error)
    throw error
  }
}

/** A request that is not OTLP. Its message says where; sending the same bytes again cannot help. */
export class MalformedOtlp extends Error {
  override readonly name = 'MalformedOtlp'
}
