import { CorruptCoding, type Decoder } from './decoder.ts'
import { Produced } from './produced.ts'

const MAX_LENGTH = 2 ** 32 - 1
const MAX_PREAMBLE_BYTES = 5
/** By the lowest two bits of a tag: how many bytes tell how far back a copy begins. */
const OFFSET_BYTES = [0, 1, 2, 4]
const FIRST_LONG_LITERAL = 60

/** Snappy's block format (format_description.txt): a length, then literals and copies from anywhere before. */
export class SnappyBlock implements Decoder {
  readonly #produced = new Produced(Infinity)
  /** The head of an element of which only a part has come. */
  #begun = Buffer.alloc(0)
  #length: number | undefined
  #literal = 0
  #copy = 0
  #offset = 0

  /** How long the whole is, as its first bytes say; undefined before they came. */
  get declared(): number | undefined {
    return this.#length
  }

  read(input: Buffer, at: number): number {
    for (;;) {
      if (this.#literal > 0) {
        const taken = this.#produced.put(input, at, Math.min(this.#literal, input.length - at))
        this.#literal -= taken
        at += taken
      } else if (this.#copy > 0) this.#copy -= this.#produced.copy(this.#offset, this.#copy)
      if (this.#produced.isFull || at === input.length) return at
      if (this.#literal === 0 && this.#copy === 0) at = this.#readHead(input, at)
    }
  }

  take(): Buffer | undefined {
    return this.#produced.take()
  }

  finish(): Buffer {
    const isCut = this.#begun.length > 0 || this.#literal > 0 || this.#copy > 0
    if (isCut || this.#produced.length !== this.#length) throw new CorruptCoding('it ends too soon')
    return this.#produced.written()
  }

  /** Reads the head of the next element, or keeps what has come of it. Returns where it ends. */
  #readHead(input: Buffer, at: number): number {
    const { length: kept } = this.#begun
    const head =
      kept === 0 ? input : Buffer.concat([this.#begun, input.subarray(at, at + MAX_PREAMBLE_BYTES)])
    const from = kept === 0 ? at : 0
    const size = this.#length === undefined ? this.#readLength(head, from) : this.#readElement(head, from)
    this.#begun = size === 0 ? Buffer.from(head.subarray(from)) : NOTHING
    return size === 0 ? input.length : at + size - kept
  }

  /** Returns how many bytes the length takes; 0 when it has not come whole. */
  #readLength(head: Buffer, from: number): number {
    let length = 0
    for (let i = 0; from + i < head.length; i++) {
      const byte = head[from + i] ?? 0
      length += (byte & 0x7f) * 2 ** (7 * i)
      if (length > MAX_LENGTH || i === MAX_PREAMBLE_BYTES) throw new CorruptCoding('its length is none')
      if (byte >= 0x80) continue
      this.#length = length
      this.#produced.expect(length)
      return i + 1
    }
    return 0
  }

  /** Returns how many bytes the head of the element takes; 0 when it has not come whole. */
  #readElement(head: Buffer, from: number): number {
    const tag = head[from] ?? 0
    const form = tag & 3
    const upper = tag >>> 2
    const more = form === 0 ? Math.max(0, upper + 1 - FIRST_LONG_LITERAL) : (OFFSET_BYTES[form] ?? 0)
    if (from + more >= head.length) return 0
    const number = more === 0 ? 0 : head.readUIntLE(from + 1, more)
    const length = form === 1 ? (upper & 7) + 4 : form === 0 && more > 0 ? number + 1 : upper + 1
    if (this.#produced.length + length > (this.#length ?? 0))
      throw new CorruptCoding('it is longer than it says')
    if (form === 0) this.#literal = length
    else {
      this.#copy = length
      this.#offset = form === 1 ? ((tag >>> 5) << 8) + number : number
    }
    return 1 + more
  }
}

const NOTHING = Buffer.alloc(0)
