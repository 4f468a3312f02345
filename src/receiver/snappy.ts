import { ByteCollector, CorruptCoding, DecodedPages, type Decoder, NOTHING, PAGE_BYTES } from './decoder.ts'

/**
 * `snappy` over HTTP: a block, or a framed stream, which Collectors before v0.131 send under the same name. No block begins with
 * the stream identifier.
 */
export class SnappyBlockOrFramed implements Decoder {
  #decoder: Decoder | undefined
  #begun = Buffer.alloc(0)

  read(input: Buffer, at: number): number {
    if (this.#decoder !== undefined) return this.#decoder.read(input, at)
    const { length } = this.#begun
    this.#begun = Buffer.concat([this.#begun, input.subarray(at, at + STREAM_IDENTIFIER.length - length)])
    at += this.#begun.length - length
    const isBlock = !this.#begun.equals(STREAM_IDENTIFIER.subarray(0, this.#begun.length))
    if (isBlock) this.#choose(new SnappyBlock())
    else if (this.#begun.length === STREAM_IDENTIFIER.length) this.#choose(new SnappyFramed())
    return at
  }

  take(): Buffer | undefined {
    return this.#decoder?.take()
  }

  finish(): Buffer {
    return (this.#decoder ?? this.#choose(new SnappyBlock())).finish()
  }

  #choose(decoder: Decoder): Decoder {
    // A few bytes never fill a piece.
    decoder.read(this.#begun, 0)
    this.#decoder = decoder
    return decoder
  }
}

const COMPRESSED = 0x00
const UNCOMPRESSED = 0x01
const IDENTIFIER = 0xff
const FIRST_SKIPPABLE = 0x80
/** The first chunk of a stream; it may be repeated between chunks (framing_format.txt, section 4.1). */
const STREAM_IDENTIFIER = Buffer.from('\xff\x06\x00\x00sNaPpY', 'latin1')

const HEAD_BYTES = 4
const CRC_BYTES = 4
/** The largest compressed chunk: Snappy's bound for incompressible data. */
const MAX_COMPRESSED = CRC_BYTES + 32 + PAGE_BYTES + Math.ceil(PAGE_BYTES / 6)

/** Snappy's framing format (framing_format.txt): chunks, each compressed independently and with a checksum. */
export class SnappyFramed implements Decoder {
  readonly #produced = new DecodedPages(0)
  readonly #head = new ByteCollector()
  readonly #body = new ByteCollector()
  #state: 'head' | 'body' | 'skipping' | 'output' = 'head'
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
          this.#state = 'output'
          break
        case 'output':
          this.#chunk = this.#chunk.subarray(this.#produced.put(this.#chunk, 0, this.#chunk.length))
          if (this.#chunk.length === 0) this.#next()
          if (this.#produced.isFull) return at
      }
    }
  }

  take(): Buffer | undefined {
    return this.#produced.take()
  }

  /** Empty input is an empty stream: Go's writer then writes no identifier. */
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
      throw new CorruptCoding('it does not begin with the stream identifier of Snappy')
    if (this.#kind >= FIRST_SKIPPABLE && this.#kind !== IDENTIFIER) {
      this.#skip = length
      this.#state = 'skipping'
      return
    }
    if (this.#kind !== COMPRESSED && this.#kind !== UNCOMPRESSED && this.#kind !== IDENTIFIER)
      throw new CorruptCoding(`a chunk has the unknown type ${this.#kind}`)
    if (length > MAX_COMPRESSED) throw new CorruptCoding('a chunk is longer than 64 KiB of data can be')
    this.#body.begin(length)
    this.#state = 'body'
  }

  /** The data of the chunk, its checksum verified. */
  #readBody(): Buffer {
    const { bytes } = this.#body
    if (this.#kind === IDENTIFIER) {
      if (!bytes.equals(STREAM_IDENTIFIER.subarray(HEAD_BYTES)))
        throw new CorruptCoding('its stream identifier is not that of Snappy')
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

/** The masked form in which a checksum is stored (framing_format.txt, section 3). */
function masked(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

const MAX_LENGTH = 2 ** 32 - 1
const MAX_PREAMBLE_BYTES = 5
/** How many bytes the offset of a copy takes, by the lowest two bits of its tag. */
const OFFSET_BYTES = [0, 1, 2, 4]
const FIRST_LONG_LITERAL = 60

/** Snappy's block format (format_description.txt): a length, then literals and copies of any earlier bytes. */
class SnappyBlock implements Decoder {
  readonly #produced = new DecodedPages(Infinity)
  /** The incomplete head of an element. */
  #begun = Buffer.alloc(0)
  #length: number | undefined
  #literal = 0
  #copy = 0
  #offset = 0

  /** The declared length of the output; undefined before it is read. */
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

  /** Reads the head of the next element, or keeps its incomplete part. Returns where it ends. */
  #readHead(input: Buffer, at: number): number {
    const { length: kept } = this.#begun
    const head =
      kept === 0 ? input : Buffer.concat([this.#begun, input.subarray(at, at + MAX_PREAMBLE_BYTES)])
    const from = kept === 0 ? at : 0
    const size = this.#length === undefined ? this.#readLength(head, from) : this.#readElement(head, from)
    this.#begun = size === 0 ? Buffer.from(head.subarray(from)) : NOTHING
    return size === 0 ? input.length : at + size - kept
  }

  /** Returns how many bytes the length takes; 0 when it is incomplete. */
  #readLength(head: Buffer, from: number): number {
    let length = 0
    for (let i = 0; from + i < head.length; i++) {
      const byte = head[from + i] ?? 0
      length += (byte & 0x7f) * 2 ** (7 * i)
      if (length > MAX_LENGTH || i === MAX_PREAMBLE_BYTES) throw new CorruptCoding('its length is invalid')
      if (byte >= 0x80) continue
      this.#length = length
      this.#produced.expect(length)
      return i + 1
    }
    return 0
  }

  /** Returns how many bytes the head of the element takes; 0 when it is incomplete. */
  #readElement(head: Buffer, from: number): number {
    const tag = head[from] ?? 0
    const form = tag & 3
    const upper = tag >>> 2
    const more = form === 0 ? Math.max(0, upper + 1 - FIRST_LONG_LITERAL) : (OFFSET_BYTES[form] ?? 0)
    if (from + more >= head.length) return 0
    const number = more === 0 ? 0 : head.readUIntLE(from + 1, more)
    const length = form === 1 ? (upper & 7) + 4 : form === 0 && more > 0 ? number + 1 : upper + 1
    if (this.#produced.length + length > (this.#length ?? 0))
      throw new CorruptCoding('it is longer than declared')
    if (form === 0) this.#literal = length
    else {
      this.#copy = length
      this.#offset = form === 1 ? ((tag >>> 5) << 8) + number : number
    }
    return 1 + more
  }
}

const POLYNOMIAL = 0x82f63b78

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte
  for (let bit = 0; bit < 8; bit++) rest = (rest & 1) === 1 ? (rest >>> 1) ^ POLYNOMIAL : rest >>> 1
  return rest
})

/** The CRC-32C (Castagnoli) of some bytes; node:zlib has another polynomial only. */
export function crc32c(bytes: Buffer): number {
  let crc = -1
  for (let at = 0; at < bytes.length; at++) crc = (crc >>> 8) ^ (TABLE[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0)
  return ~crc >>> 0
}
