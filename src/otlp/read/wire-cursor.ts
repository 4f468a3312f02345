import { MalformedOtlp } from './malformed.ts'

const VARINT = 0
const FIXED64 = 1
const LENGTH = 2
const FIXED32 = 5
/** Texts that are looked up, indexed and remembered are no longer than this. */
export const MAX_TEXT_BYTES = 4_096

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
    const value = this.bytes.readBigInt64LE(this.start)
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
