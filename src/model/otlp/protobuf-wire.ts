import { AUDIT_ID, CLUSTER_NAME, POD_UID, SERVICE_NAME } from '../attributes.ts'

export const VARINT = 0
export const FIXED64 = 1
export const LENGTH = 2
const FIXED32 = 5
/** Texts that are looked up, indexed and remembered are no longer than this. */
export const MAX_TEXT_BYTES = 4_096

/** The same bytes as a Buffer, not copied. */
export function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** Numbers are put together here: Buffer's own methods for int64 make three more BigInts for each. */
const eightBytes = new DataView(new ArrayBuffer(8))

/** The id of a span, as a signed number. */
export function readSpanId(bytes: Buffer, at: number): bigint {
  eightBytes.setInt32(0, bytes.readInt32BE(at))
  eightBytes.setInt32(4, bytes.readInt32BE(at + 4))
  return eightBytes.getBigInt64(0)
}

/**
 * Walks the fields of one protobuf message without building objects. After `next()` the current field's number is
 * in `field`; for a length-delimited field its contents lie in [start, end), for a fixed one its bytes begin at
 * `start`, for a varint its value is in `value` (exact up to 2^53).
 */
export class WireCursor {
  field = 0
  wire = 0
  start = 0
  end = 0
  value = 0
  /** Where the current field's tag begins; the field ends at `pos`. */
  tagAt = 0
  pos: number
  readonly bytes: Buffer
  #limit: number

  constructor(bytes: Buffer, from = 0, to = bytes.length) {
    this.bytes = bytes
    this.pos = from
    this.#limit = to
  }

  /** Points the cursor at another message in the same bytes. */
  reset(from: number, to: number): void {
    this.pos = from
    this.#limit = to
  }

  /** Moves to the next field; false at the end. Throws MalformedOtlp on broken bytes. */
  next(): boolean {
    if (this.pos >= this.#limit) return false
    this.tagAt = this.pos
    // Nearly every tag and length is one byte.
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

  /** True when the current field is length-delimited; throws when a known field has another wire type. */
  expectLength(name: string): void {
    if (this.wire !== LENGTH)
      throw new MalformedOtlp(`${name} at byte ${this.tagAt} has wire type ${this.wire}`)
  }

  /** The current fixed64 field as a time in nanoseconds, at most 2^63-1. */
  nanos(name: string): bigint {
    if (this.wire !== FIXED64)
      throw new MalformedOtlp(`${name} at byte ${this.tagAt} has wire type ${this.wire}`)
    eightBytes.setInt32(4, this.bytes.readInt32LE(this.start))
    eightBytes.setInt32(0, this.bytes.readInt32LE(this.start + 4))
    const value = eightBytes.getBigInt64(0)
    return value < 0n ? 0x7fff_ffff_ffff_ffffn : value
  }

  /** The current varint field as an int32 or enum, which are the low 32 bits (protobuf, Updating A Message Type). */
  int32(name: string): number {
    if (this.wire !== VARINT)
      throw new MalformedOtlp(`${name} at byte ${this.tagAt} has wire type ${this.wire}`)
    let value = 0
    for (let at = this.start, shift = 0; at < this.end && shift < 32; at++, shift += 7)
      value |= ((this.bytes[at] ?? 0) & 0x7f) << shift
    return value
  }

  /** The current field as a text, cut to MAX_TEXT_BYTES: the whole of it stays in the bytes. */
  text(): string {
    const { bytes, start } = this
    let { end } = this
    if (end - start > MAX_TEXT_BYTES) {
      end = start + MAX_TEXT_BYTES
      // Not within a character.
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

/** Members of AnyValue. */
const STRING = 1
const ARRAY = 5
const LAST_MEMBER = 7

/** An attribute's value where it is a string or an array; anything else is undefined. */
export type TextValue = string | string[] | undefined

/**
 * True when a KeyValue at [start, end) may have a key that begins with `cpid.`: one byte comparison for the rest,
 * and true for the rare KeyValue whose key does not come first.
 */
export function mayBeCpidAttribute(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 4) return false
  const length = bytes[start + 1] ?? 0
  if (isWrittenOtherwise(bytes, start, length)) return true
  return bytes[start + 2] === LOWER_C && bytes[start + 6] === DOT
}

/** The key does not come first, has a length in several bytes, or comes twice: seldom, and read by others as what it says last. */
function isWrittenOtherwise(bytes: Buffer, start: number, length: number): boolean {
  return bytes[start] !== KEY_TAG || length > 0x7f || bytes[start + 2 + length] === KEY_TAG
}

/** True when a KeyValue, whose key comes first, may be `audit-id` or `k8s.pod.uid`: by the length of its key, for nearly all. */
export function mayNameRequestOrPod(bytes: Buffer, start: number): boolean {
  const length = bytes[start + 1]
  if (length === AUDIT_ID.length) return bytes[start + 2] === LOWER_A && bytes[start + 7] === DASH
  return length === POD_UID.length && bytes[start + 9] === DOT && bytes[start + 10] === LOWER_U
}

/** True when a KeyValue may be `service.name` or `k8s.cluster.name`: by the length of its key, for nearly all. */
export function maySayWho(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < 4) return false
  const length = bytes[start + 1] ?? 0
  if (isWrittenOtherwise(bytes, start, length)) return true
  return length === SERVICE_NAME.length || length === CLUSTER_NAME.length
}

/** Reads one KeyValue at [start, end). The elements of a list are counted before they are made, where there is a count. */
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

/** Reads an AnyValue, of which the last member counts; one that comes in parts goes on from `earlier` (protobuf). */
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

/** Adds the elements of an ArrayValue; an element that is not a string reads as the empty string. */
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

/** How many items any request may hold, however small it is: several batches of a usual sender. */
export const FREE_ITEMS = 16_384
/** A request may hold one more item for each 128 bytes, so that its objects take a fixed multiple of its size. */
export const BYTES_AN_ITEM = 128

/**
 * What becomes an object when a request is read, and how much of an item each counts for. References are short texts; most metrics and
 * data points stay bytes. Attributes, links and other events always stay bytes, however many they are.
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

/** Counts the items of one request, and refuses it before more objects are made than its size allows. */
export class ItemCount {
  readonly #bytes: number
  readonly #most: number
  readonly #of = new Map<ItemKind, number>()
  #left: number

  /** `bytes` is the size of the request, uncompressed. */
  constructor(bytes: number) {
    this.#bytes = bytes
    this.#most = FREE_ITEMS + Math.floor(bytes / BYTES_AN_ITEM)
    this.#left = this.#most
  }

  /** Counts an item that is about to be made. Throws MalformedOtlp when they are too many. */
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

/** A request that is not OTLP. Its message says where; sending the same bytes again cannot help. */
export class MalformedOtlp extends Error {
  override readonly name = 'MalformedOtlp'
}
