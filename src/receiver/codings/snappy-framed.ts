import { crc32c } from './crc32c.ts'
import { CorruptCoding, type Decoder } from './decoder.ts'
import { Gathered } from './gathered.ts'
import { PAGE_BYTES, Produced } from './produced.ts'
import { SnappyBlock } from './snappy-block.ts'

const COMPRESSED = 0x00
const UNCOMPRESSED = 0x01
const IDENTIFIER = 0xff
const FIRST_SKIPPABLE = 0x80
/** How a stream begins; it may come again wherever a chunk may. */
export const STREAM_IDENTIFIER = Buffer.from('\xff\x06\x00\x00sNaPpY', 'latin1')

const HEAD_BYTES = 4
const CRC_BYTES = 4
/** What Snappy makes of a chunk that cannot be compressed, at most. */
const MAX_COMPRESSED = CRC_BYTES + 32 + PAGE_BYTES + Math.ceil(PAGE_BYTES / 6)

/** Snappy's framing format (framing_format.txt): chunks, each with its checksum, each by itself. */
export class SnappyFramed implements Decoder {
  readonly #produced = new Produced(0)
  readonly #head = new Gathered()
  readonly #body = new Gathered()
  #state: 'head' | 'body' | 'skipping' | 'handing on' = 'head'
  #kind = 0
  #skip = 0
  #chunk: Buffer = NOTHING
  #hasBegun = false

  constructor() {
    this.#head.begin(HEAD_BYTES)
  }

  read(input: Buffer, at: number): number {
    for (;;) {
      switch (this.#state) {
        case 'head':
          at = this.#head.read(input, at)
          if (!this.#head.isWhole) return at
          this.#readHead()
          break
        case 'skipping': {
          const skipped = Math.min(this.#skip, input.length - at)
          this.#skip -= skipped
          at += skipped
          if (this.#skip > 0) return at
          this.#next()
          break
        }
        case 'body':
          at = this.#body.read(input, at)
          if (!this.#body.isWhole) return at
          this.#chunk = this.#readBody()
          this.#state = 'handing on'
          break
        case 'handing on':
          this.#chunk = this.#chunk.subarray(this.#produced.put(this.#chunk, 0, this.#chunk.length))
          if (this.#chunk.length === 0) this.#next()
          if (this.#produced.isFull) return at
      }
    }
  }

  take(): Buffer | undefined {
    return this.#produced.take()
  }

  /** Nothing at all is an empty stream, as Go's writer leaves it. */
  finish(): Buffer {
    if (this.#state !== 'head' || !this.#head.isEmpty) throw new CorruptCoding('it ends too soon')
    return this.#produced.written()
  }

  #next(): void {
    this.#state = 'head'
    this.#head.begin(HEAD_BYTES)
  }

  #readHead(): void {
    const { word } = this.#head
    this.#kind = word & 0xff
    const length = word >>> 8
    if (!this.#hasBegun && this.#kind !== IDENTIFIER)
      throw new CorruptCoding('it does not begin as framed Snappy does')
    if (this.#kind >= FIRST_SKIPPABLE && this.#kind !== IDENTIFIER) {
      this.#skip = length
      this.#state = 'skipping'
      return
    }
    if (this.#kind !== COMPRESSED && this.#kind !== UNCOMPRESSED && this.#kind !== IDENTIFIER)
      throw new CorruptCoding(`a chunk is of kind ${this.#kind}, which nobody knows`)
    if (length > MAX_COMPRESSED) throw new CorruptCoding('a chunk is longer than 64 KiB of data can be')
    this.#body.begin(length)
    this.#state = 'body'
  }

  /** What the chunk stands for. */
  #readBody(): Buffer {
    const { bytes } = this.#body
    if (this.#kind === IDENTIFIER) {
      if (!bytes.equals(STREAM_IDENTIFIER.subarray(HEAD_BYTES)))
        throw new CorruptCoding('it is no framed Snappy')
      this.#hasBegun = true
      return NOTHING
    }
    if (bytes.length < CRC_BYTES) throw new CorruptCoding('a chunk has no checksum')
    const data = bytes.subarray(CRC_BYTES)
    const plain = this.#kind === COMPRESSED ? blockOf(data) : data
    if (plain.length > PAGE_BYTES) throw new CorruptCoding('a chunk holds more than 64 KiB')
    if (masked(crc32c(plain)) !== bytes.readUInt32LE(0)) throw new CorruptCoding('a checksum is wrong')
    return plain
  }
}

/** A block of at most a page. */
function blockOf(data: Buffer): Buffer {
  const block = new SnappyBlock()
  block.read(data, 0)
  if ((block.declared ?? 0) > PAGE_BYTES) throw new CorruptCoding('a chunk holds more than 64 KiB')
  const full = block.take()
  if (full !== undefined) block.read(data, data.length)
  const rest = block.finish()
  return full ?? rest
}

/** A checksum of data that holds checksums is kept turned and moved (framing_format.txt, section 3). */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

const NOTHING = Buffer.alloc(0)
