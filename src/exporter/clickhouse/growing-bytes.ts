const FIRST_BYTES = 256
/** Shorter texts are written faster than Node is called. */
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

/** Bytes that are written one value after another, little end first. */
export class GrowingBytes {
  #bytes: Buffer
  #view: DataView
  #length = 0

  constructor(expected = FIRST_BYTES) {
    this.#bytes = Buffer.allocUnsafe(expected)
    this.#view = viewOf(this.#bytes)
  }

  /** All so far, which share memory with what is written from now on. */
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

  /** Signed or not: above the highest they begin again. */
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

  /** Its length in bytes and its bytes. */
  text(value: string): void {
    if (value.length < SHORT && this.#short(value)) return
    const size = Buffer.byteLength(value)
    this.varint(size)
    const at = this.#take(size)
    this.#bytes.write(value, at)
  }

  /** False where there is more than ASCII in it. */
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

  /** Two numbers of 64 bits. False where it is no UUID, with or without dashes. */
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

  /** Where the next bytes go. */
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
