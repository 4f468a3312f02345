import { Transform, type TransformCallback } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { Decoder } from './decoder.ts'

/** How much is read without giving others a turn. */
const SLICE_BYTES = 64 * 1024

/** A decoder as a stream. It lets others take turns, and stops when it is destroyed. */
export class Decompress extends Transform {
  readonly #decoder: Decoder

  constructor(decoder: Decoder) {
    super()
    this.#decoder = decoder
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#read(chunk).then(() => done(), done)
  }

  override _flush(done: TransformCallback): void {
    try {
      const rest = this.#decoder.finish()
      done(null, rest.length === 0 ? undefined : rest)
    } catch (error) {
      done(error as Error)
    }
  }

  async #read(chunk: Buffer): Promise<void> {
    for (let from = 0; from < chunk.length; from += SLICE_BYTES) {
      if (from > 0) await setImmediate()
      const slice = chunk.subarray(from, from + SLICE_BYTES)
      for (let at = 0; !this.destroyed;) {
        at = this.#decoder.read(slice, at)
        const piece = this.#decoder.take()
        if (piece !== undefined) {
          this.push(piece)
          await setImmediate()
        } else if (at === slice.length) break
      }
    }
  }
}
