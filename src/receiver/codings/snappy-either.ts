import type { Decoder } from './decoder.ts'
import { SnappyBlock } from './snappy-block.ts'
import { SnappyFramed, STREAM_IDENTIFIER } from './snappy-framed.ts'

/**
 * Snappy as HTTP senders mean it: a block, or a framed stream, which Collectors before v0.131 send under the same name. No
 * block begins as a stream does.
 */
export class SnappyEither implements Decoder {
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
