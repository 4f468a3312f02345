import { WireType } from '@bufbuild/protobuf/wire'

/** Of a varint of 64 bits. */
const MAX_VARINT_BYTES = 10
const LONGEST_SCALAR = 2 * MAX_VARINT_BYTES

/**
 * Writes a protobuf message into one buffer that grows. Fields within fields cost no objects: a message begins with one byte for
 * its length, and is moved on where it comes to need more.
 */
export class GrowingMessage {
  #bytes: Buffer<ArrayBuffer>
  #length = 0
  /** Where the messages begin that are not ended yet. */
  readonly #begun: number[] = []

  /** `size`: how long it is likely to become. */
  constructor(size: number) {
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(LONGEST_SCALAR, size))
  }

  /** Begins a field that is a message; what follows is in it until `end`. */
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

  bytes(no: number, value: Uint8Array): void {
    this.#makeRoom(LONGEST_SCALAR + value.length)
    this.#tag(no, WireType.LengthDelimited)
    this.#varint(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
  }

  /** A whole number below 2^53 as a varint. */
  number(no: number, value: number): void {
    this.#makeRoom(LONGEST_SCALAR)
    this.#tag(no, WireType.Varint)
    this.#varint(value)
  }

  /** A whole number of 64 bits as a varint, a negative one in two's complement. */
  int64(no: number, value: bigint): void {
    this.#makeRoom(LONGEST_SCALAR)
    this.#tag(no, WireType.Varint)
    let left = BigInt.asUintN(64, value)
    for (; left >= 0x80n; left >>= 7n) this.#bytes[this.#length++] = Number(left & 0x7fn) | 0x80
    this.#bytes[this.#length++] = Number(left)
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

  fixed64(no: number, value: bigint): void {
    this.#makeRoom(LONGEST_SCALAR)
    this.#tag(no, WireType.Bit64)
    this.#length = this.#bytes.writeBigUInt64LE(value, this.#length)
  }

  /** The message in memory of its own, of its size. */
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
