import { ByteCollector, CorruptCoding, DecodedPages, type Decoder } from './decoder.ts'

const MAGIC = 0x184d2204
const SKIPPABLE_MAGIC = 0x184d2a50
const WORD = 4
const IS_UNCOMPRESSED = 0x80000000

type FrameState =
  | 'magic'
  | 'skip length'
  | 'skipping'
  | 'descriptor'
  | 'block length'
  | 'block'
  | 'block checksum'
  | 'checksum'

/** A stream of LZ4 frames (lz4_Frame_format.md). Frames that need a dictionary are refused. */
export class Lz4Frame implements Decoder {
  readonly #produced = new DecodedPages(1)
  readonly #block = new Lz4Block(this.#produced)
  readonly #gathered = new ByteCollector()
  #state: FrameState = 'magic'
  #frame: Lz4Descriptor | undefined
  #frameBegan = 0
  readonly #content = new Xxh32()
  /** How many bytes of the page the content checksum covers so far. */
  #summed = 0
  readonly #blockSum = new Xxh32()
  #left = 0
  #isCompressed = false
  #hasFrame = false

  constructor() {
    this.#gathered.begin(WORD)
  }

  read(input: Buffer, at: number): number {
    for (;;) {
      if (this.#state === 'skipping') {
        const skipped = Math.min(this.#left, input.length - at)
        this.#left -= skipped
        at += skipped
        if (this.#left > 0) return at
        this.#become('magic', WORD)
      } else if (this.#isInBlock() && this.#frame !== undefined) {
        at = this.#readBlock(input, at, this.#frame)
        if (this.#produced.isFull || this.#isInBlock()) return at
      } else {
        at = this.#gathered.read(input, at)
        if (!this.#gathered.isWhole) return at
        this.#readPart(this.#frame)
      }
    }
  }

  take(): Buffer | undefined {
    if (this.#produced.isFull) this.#sumUp()
    const page = this.#produced.take()
    if (page !== undefined) this.#summed = 0
    return page
  }

  finish(): Buffer {
    if (!this.#hasFrame || this.#state !== 'magic' || !this.#gathered.isEmpty)
      throw new CorruptCoding('it ends too soon')
    return this.#produced.written()
  }

  #isInBlock(): boolean {
    return this.#state === 'block'
  }

  #become(state: FrameState, bytes: number): void {
    this.#state = state
    this.#gathered.begin(bytes)
  }

  #readPart(frame: Lz4Descriptor | undefined): void {
    if (this.#state === 'magic') this.#readMagic(this.#gathered.word)
    else if (this.#state === 'descriptor') this.#readDescriptor(this.#gathered.bytes)
    else if (this.#state === 'skip length') {
      this.#left = this.#gathered.word
      this.#state = 'skipping'
    } else if (frame !== undefined) this.#readInFrame(this.#gathered.word, frame)
  }

  #readInFrame(word: number, frame: Lz4Descriptor): void {
    if (this.#state === 'block length') this.#beginBlock(word, frame)
    else if (word !== (this.#state === 'checksum' ? this.#content : this.#blockSum).digest())
      throw new CorruptCoding('a checksum is wrong')
    else if (this.#state === 'checksum') this.#endFrame(frame)
    else this.#become('block length', WORD)
  }

  #readMagic(magic: number): void {
    if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) this.#become('skip length', WORD)
    else if (magic === MAGIC) this.#become('descriptor', 1)
    else throw new CorruptCoding('it does not begin with the magic number of LZ4')
  }

  /** Its first byte determines its length. */
  #readDescriptor(bytes: Buffer): void {
    this.#gathered.extend(descriptorBytes(bytes.readUInt8(0)))
    if (!this.#gathered.isWhole) return
    this.#frame = readDescriptor(bytes)
    this.#frameBegan = this.#produced.length
    this.#content.begin()
    this.#summed = this.#produced.written().length
    this.#produced.close()
    this.#become('block length', WORD)
  }

  #beginBlock(length: number, frame: Lz4Descriptor): void {
    if (length === 0) {
      this.#sumUp()
      if (frame.hasContentSum) this.#become('checksum', WORD)
      else this.#endFrame(frame)
      return
    }
    this.#isCompressed = length < IS_UNCOMPRESSED
    this.#left = this.#isCompressed ? length : length - IS_UNCOMPRESSED
    if (this.#left > frame.mostInBlock) throw new CorruptCoding('a block is longer than its frame allows')
    if (frame.blocksAreAlone) this.#produced.close()
    this.#blockSum.begin()
    this.#block.begin(frame.mostInBlock)
    this.#state = 'block'
  }

  #readBlock(input: Buffer, at: number, frame: Lz4Descriptor): number {
    const end = Math.min(input.length, at + this.#left)
    const reached = this.#isCompressed
      ? this.#block.read(input, at, end)
      : at + this.#produced.put(input, at, end - at)
    this.#left -= reached - at
    if (frame.hasBlockSums) this.#blockSum.update(input.subarray(at, reached))
    if (this.#left > 0 || (this.#isCompressed && this.#block.isRepeating)) return reached
    if (this.#isCompressed && !this.#block.mayEnd) throw new CorruptCoding('a block ends too soon')
    if (frame.hasBlockSums) this.#become('block checksum', WORD)
    else this.#become('block length', WORD)
    return reached
  }

  /** Adds the new bytes of the page to the content checksum. */
  #sumUp(): void {
    if (this.#frame?.hasContentSum === true) this.#content.update(this.#produced.written(this.#summed))
    this.#summed = this.#produced.written().length
  }

  #endFrame({ contentBytes }: Lz4Descriptor): void {
    const made = this.#produced.length - this.#frameBegan
    if (contentBytes !== undefined && contentBytes !== made)
      throw new CorruptCoding('its length is not the declared one')
    this.#frame = undefined
    this.#hasFrame = true
    this.#become('magic', WORD)
  }
}

const SHORTEST_MATCH = 4
const MORE_FOLLOWS = 15
const LONGEST_BYTE = 255

const BlockState = {
  token: 0,
  literalLength: 1,
  literals: 2,
  offsetLow: 3,
  offsetHigh: 4,
  matchLength: 5,
  match: 6,
} as const
type BlockState = (typeof BlockState)[keyof typeof BlockState]

/** Decodes the sequences of an LZ4 block (lz4_Block_format.md) as their bytes arrive. */
class Lz4Block {
  readonly #produced: DecodedPages
  #state: BlockState = BlockState.token
  #literals = 0
  #match = 0
  #offset = 0
  /** How many more bytes the block may produce. */
  #room = 0

  constructor(produced: DecodedPages) {
    this.#produced = produced
  }

  /** Begins a block that produces at most `most` bytes. */
  begin(most: number): void {
    this.#state = BlockState.token
    this.#room = most
  }

  /** Whether a block may end here: after the literals of a sequence. */
  get mayEnd(): boolean {
    return this.#state === BlockState.offsetLow
  }

  /** Whether a match is being copied, which needs no further input. */
  get isRepeating(): boolean {
    return this.#state === BlockState.match
  }

  /** Reads from `at` up to `end`, or until a page is full; returns where it stopped. */
  read(input: Buffer, at: number, end: number): number {
    for (;;) {
      if (this.#state === BlockState.literals) {
        const taken = this.#produced.put(input, at, Math.min(this.#literals, end - at))
        this.#literals -= taken
        at += taken
        if (this.#literals > 0) return at
        this.#state = BlockState.offsetLow
      } else if (this.#state === BlockState.match) {
        this.#match -= this.#produced.copy(this.#offset, this.#match)
        if (this.#match > 0) return at
        this.#state = BlockState.token
      }
      if (this.#produced.isFull || at === end) return at
      this.#readByte(input[at++] ?? 0)
    }
  }

  #readByte(byte: number): void {
    switch (this.#state) {
      case BlockState.token:
        this.#literals = byte >>> 4
        this.#match = (byte & MORE_FOLLOWS) + SHORTEST_MATCH
        if (this.#literals === MORE_FOLLOWS) this.#state = BlockState.literalLength
        else this.#beginLiterals()
        return
      case BlockState.literalLength:
        this.#literals += byte
        if (byte === LONGEST_BYTE) this.#mustFit(this.#literals)
        else this.#beginLiterals()
        return
      case BlockState.offsetLow:
        this.#offset = byte
        this.#state = BlockState.offsetHigh
        return
      case BlockState.offsetHigh:
        this.#offset += byte << 8
        if (this.#match === MORE_FOLLOWS + SHORTEST_MATCH) this.#state = BlockState.matchLength
        else this.#beginMatch()
        return
      case BlockState.matchLength:
        this.#match += byte
        if (byte === LONGEST_BYTE) this.#mustFit(this.#match)
        else this.#beginMatch()
        return
      case BlockState.literals:
      case BlockState.match:
        // These are not read byte by byte.
        return
    }
  }

  #beginLiterals(): void {
    this.#mustFit(this.#literals)
    this.#room -= this.#literals
    this.#state = BlockState.literals
  }

  #beginMatch(): void {
    this.#mustFit(this.#match)
    this.#room -= this.#match
    this.#state = BlockState.match
  }

  #mustFit(length: number): void {
    if (length > this.#room) throw new CorruptCoding('a block is longer than its frame allows')
  }
}

const [P1, P2, P3, P4, P5] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1] as const
const STRIPE = 16

/** The XXH32 checksum of a stream of bytes, with seed 0 (xxHash specification, XXH32). */
export class Xxh32 {
  readonly #rest = Buffer.alloc(STRIPE)
  #kept = 0
  #length = 0
  #a = 0
  #b = 0
  #c = 0
  #d = 0

  constructor() {
    this.begin()
  }

  /** Starts a new checksum. */
  begin(): void {
    this.#kept = 0
    this.#length = 0
    this.#a = (P1 + P2) | 0
    this.#b = P2 | 0
    this.#c = 0
    this.#d = -P1 | 0
  }

  update(bytes: Buffer): void {
    this.#length += bytes.length
    let at = 0
    if (this.#kept > 0) {
      at = bytes.copy(this.#rest, this.#kept, 0, STRIPE - this.#kept)
      this.#kept += at
      if (this.#kept < STRIPE) return
      this.#stripes(this.#rest, 0)
    }
    at = this.#stripes(bytes, at)
    this.#kept = bytes.copy(this.#rest, 0, at)
  }

  digest(): number {
    let hash =
      this.#length < STRIPE
        ? P5
        : turned(this.#a, 1) + turned(this.#b, 7) + turned(this.#c, 12) + turned(this.#d, 18)
    hash = (hash + this.#length) | 0
    let at = 0
    for (; at + 4 <= this.#kept; at += 4) {
      hash = (hash + Math.imul(this.#rest.readInt32LE(at), P3)) | 0
      hash = Math.imul(turned(hash, 17), P4)
    }
    for (; at < this.#kept; at++) {
      hash = (hash + Math.imul(this.#rest.readUInt8(at), P5)) | 0
      hash = Math.imul(turned(hash, 11), P1)
    }
    hash = Math.imul(hash ^ (hash >>> 15), P2)
    hash = Math.imul(hash ^ (hash >>> 13), P3)
    return (hash ^ (hash >>> 16)) >>> 0
  }

  /** Takes all whole stripes from `at` on; returns where they end. */
  #stripes(bytes: Buffer, at: number): number {
    let [a, b, c, d] = [this.#a, this.#b, this.#c, this.#d]
    for (; at + STRIPE <= bytes.length; at += STRIPE) {
      a = taken(a, wordAt(bytes, at))
      b = taken(b, wordAt(bytes, at + 4))
      c = taken(c, wordAt(bytes, at + 8))
      d = taken(d, wordAt(bytes, at + 12))
    }
    this.#a = a
    this.#b = b
    this.#c = c
    this.#d = d
    return at
  }
}

function wordAt(bytes: Buffer, at: number): number {
  return (
    (bytes[at] ?? 0) |
    ((bytes[at + 1] ?? 0) << 8) |
    ((bytes[at + 2] ?? 0) << 16) |
    ((bytes[at + 3] ?? 0) << 24)
  )
}

function taken(lane: number, word: number): number {
  return Math.imul(turned((lane + Math.imul(word, P2)) | 0, 13), P1)
}

function turned(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits))
}

/** The frame descriptor in the head of an LZ4 frame. */
interface Lz4Descriptor {
  /** Whether no block refers to the one before. */
  readonly blocksAreAlone: boolean
  readonly hasBlockSums: boolean
  readonly hasContentSum: boolean
  readonly contentBytes: number | undefined
  readonly mostInBlock: number
}

const FLAG = {
  dictionary: 0x01,
  reserved: 0x02,
  contentSum: 0x04,
  contentSize: 0x08,
  blockSums: 0x10,
  alone: 0x20,
}
const VERSION_1 = 1
const SMALLEST_SIZE = 4
const KIB = 1024
/** Used synchronously only, so that one is enough. */
const SUM = new Xxh32()

/** The length of a descriptor by its first byte: two bytes, the content size if present, and a checksum. */
function descriptorBytes(flags: number): number {
  return 2 + ((flags & FLAG.contentSize) === 0 ? 0 : 8) + 1
}

/** Reads a complete descriptor; throws CorruptCoding when it is invalid or needs a dictionary. */
function readDescriptor(bytes: Buffer): Lz4Descriptor {
  const flags = bytes.readUInt8(0)
  const size = bytes.readUInt8(1) >>> 4
  if (flags >>> 6 !== VERSION_1) throw new CorruptCoding('its frame is of an unknown version')
  if ((flags & FLAG.dictionary) !== 0) throw new CorruptCoding('it needs a dictionary')
  if ((flags & FLAG.reserved) !== 0 || size < SMALLEST_SIZE || size > 7 || (bytes.readUInt8(1) & 0x0f) !== 0)
    throw new CorruptCoding('its frame descriptor is invalid')
  SUM.begin()
  SUM.update(bytes.subarray(0, -1))
  if (((SUM.digest() >>> 8) & 0xff) !== bytes.at(-1)) throw new CorruptCoding('a checksum is wrong')
  return {
    blocksAreAlone: (flags & FLAG.alone) !== 0,
    hasBlockSums: (flags & FLAG.blockSums) !== 0,
    hasContentSum: (flags & FLAG.contentSum) !== 0,
    contentBytes: (flags & FLAG.contentSize) === 0 ? undefined : Number(bytes.readBigUInt64LE(2)),
    mostInBlock: 64 * KIB * 4 ** (size - SMALLEST_SIZE),
  }
}
