import type { TransformCallback } from 'node:stream'
import { ZstdDecompress } from 'node:zlib'
import { CorruptCoding } from './decoder.ts'

const MAGIC = 0xfd2fb528
/** The magic number of a skippable frame without its lowest four bits, which have no meaning. */
const SKIPPABLE = 0x184d2a50
const WORD_BYTES = 4
const BLOCK_HEAD_BYTES = 3
const RLE_BLOCK = 1
const DICTIONARY_BYTES = [0, 1, 2, 4] as const
const CONTENT_SIZE_BYTES = [0, 2, 4, 8] as const
/** A body may have FRAMES frames, and another for every BYTES_A_FRAME bytes: each is a chunk of its own to zlib. */
const FRAMES = 1_024
const BYTES_A_FRAME = 4_096

/** The parts of a body (RFC 8878, section 3.1). */
type Part = 'magic' | 'skipped size' | 'skipped' | 'descriptor' | 'head' | 'block head' | 'block' | 'checksum'

const NUMBERS: ReadonlySet<Part> = new Set(['magic', 'skipped size', 'descriptor', 'block head'])

/**
 * Finds where the frames of a body end, without decompressing. Bytes that are no frame count as part of the last one, so that the
 * decompressor reports what is wrong.
 */
export class ZstdFrameEnds {
  #part: Part = 'magic'
  /** How many bytes of the part are missing. */
  #left = WORD_BYTES
  /** The value of a part that is a number, of the `#had` bytes read so far. Numbers are little-endian. */
  #number = 0
  #had = 0
  #hasChecksum = false
  #isLastBlock = false
  #isLost = false

  /** The offset at which the frame at `at` ends, or the end of the input. */
  next(input: Buffer, at: number): { end: number; isFrameEnd: boolean } {
    let end = at
    while (end < input.length && !this.#isLost) {
      const take = Math.min(this.#left, input.length - end)
      if (this.#isNumber) {
        for (let i = 0; i < take; i++) this.#number += (input[end + i] ?? 0) * 2 ** (8 * this.#had++)
      }
      end += take
      this.#left -= take
      if (this.#left === 0 && this.#isFrameOver()) return { end, isFrameEnd: true }
    }
    return { end: input.length, isFrameEnd: false }
  }

  get #isNumber(): boolean {
    return NUMBERS.has(this.#part)
  }

  /** Moves on from a complete part. True if it was the last part of a frame. */
  #isFrameOver(): boolean {
    for (;;) {
      const ended = this.#part
      const next = this.#after(ended)
      if (next === undefined) {
        this.#isLost = true
        return false
      }
      ;[this.#part, this.#left] = next
      this.#number = 0
      this.#had = 0
      if (this.#left > 0) return this.#part === 'magic'
    }
  }

  /** The part after a complete one, and its length; undefined for an unknown magic number. */
  #after(ended: Part): [Part, bytes: number] | undefined {
    const number = this.#number
    switch (ended) {
      case 'magic':
        if (number === MAGIC) return ['descriptor', 1]
        return (number & ~0xf) >>> 0 === SKIPPABLE ? ['skipped size', WORD_BYTES] : undefined
      case 'skipped size':
        return ['skipped', number]
      case 'descriptor':
        this.#hasChecksum = (number & 4) !== 0
        return ['head', headBytes(number)]
      case 'head':
        return ['block head', BLOCK_HEAD_BYTES]
      case 'block head':
        this.#isLastBlock = (number & 1) !== 0
        return ['block', ((number >>> 1) & 3) === RLE_BLOCK ? 1 : number >>> 3]
      case 'block':
        if (!this.#isLastBlock) return ['block head', BLOCK_HEAD_BYTES]
        return ['checksum', this.#hasChecksum ? WORD_BYTES : 0]
      case 'skipped':
      case 'checksum':
        return ['magic', WORD_BYTES]
    }
  }
}

function headBytes(descriptor: number): number {
  const isSingleSegment = (descriptor & 0x20) !== 0
  const sizeOf = descriptor >>> 6
  const contentSize = sizeOf === 0 && isSingleSegment ? 1 : (CONTENT_SIZE_BYTES[sizeOf] ?? 0)
  return (isSingleSegment ? 0 : 1) + (DICTIONARY_BYTES[descriptor & 3] ?? 0) + contentSize
}

/**
 * Decompresses all frames of a body. Node's own stream stops at the end of the first frame, and drops the rest of that chunk without an error;
 * so each frame is passed to it as a chunk of its own.
 */
export class ZstdFrames extends ZstdDecompress {
  readonly #ends = new ZstdFrameEnds()
  #frames = 0
  #bytes = 0

  override _transform(chunk: Buffer, encoding: BufferEncoding, done: TransformCallback): void {
    const goOn = (at: number): void => {
      const { end, isFrameEnd } = this.#ends.next(chunk, at)
      this.#bytes += end - at
      if (isFrameEnd && ++this.#frames > FRAMES + this.#bytes / BYTES_A_FRAME) {
        done(new CorruptCoding('it has too many frames'))
        return
      }
      const isLast = end >= chunk.length
      super._transform(at === 0 && isLast ? chunk : chunk.subarray(at, end), encoding, (error, bytes) => {
        if (isLast || error) done(error, bytes)
        else goOn(end)
      })
    }
    goOn(0)
  }
}
