import { CorruptCoding, type Decoder } from './decoder.ts'
import { Gathered } from './gathered.ts'
import { Lz4Block } from './lz4-block.ts'
import { descriptorBytes, readDescriptor, type Lz4Descriptor } from './lz4-descriptor.ts'
import { Produced } from './produced.ts'
import { Xxh32 } from './xxh32.ts'

const MAGIC = 0x184d2204
const SKIPPABLE_MAGIC = 0x184d2a50
const WORD = 4
const IS_UNCOMPRESSED = 0x80000000

type State =
  | 'magic'
  | 'skip length'
  | 'skipping'
  | 'descriptor'
  | 'block length'
  | 'block'
  | 'block checksum'
  | 'checksum'

/** LZ4's frames (lz4_Frame_format.md), one after the other. Frames that need a dictionary are refused. */
export class Lz4Frame implements Decoder {
  readonly #produced = new Produced(1)
  readonly #block = new Lz4Block(this.#produced)
  readonly #gathered = new Gathered()
  #state: State = 'magic'
  #frame: Lz4Descriptor | undefined
  #frameBegan = 0
  readonly #content = new Xxh32()
  /** How much of the page is in the checksum of the content. */
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

  #become(state: State, bytes: number): void {
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
    else throw new CorruptCoding('it does not begin as a frame of LZ4 does')
  }

  /** Its first byte says how long it is. */
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

  /** Has the checksum of the content take in what the page holds. */
  #sumUp(): void {
    if (this.#frame?.hasContentSum === true) this.#content.update(this.#produced.written(this.#summed))
    this.#summed = this.#produced.written().length
  }

  #endFrame({ contentBytes }: Lz4Descriptor): void {
    const made = this.#produced.length - this.#frameBegan
    if (contentBytes !== undefined && contentBytes !== made)
      throw new CorruptCoding('it is not as long as it says')
    this.#frame = undefined
    this.#hasFrame = true
    this.#become('magic', WORD)
  }
}
