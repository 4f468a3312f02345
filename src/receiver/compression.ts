import { Transform, type TransformCallback } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { constants, createGunzip, createInflate } from 'node:zlib'
import type { Decoder } from './decoder.ts'
import { Lz4Frame } from './lz4.ts'
import { SnappyBlockOrFramed, SnappyFramed } from './snappy.ts'
import { ZstdFrames } from './zstd-frames.ts'

type Codings = Readonly<Record<string, () => Transform>>

/** The window RFC 8878 asks decoders to support; a frame that asks for more could take more than the size limit. */
const ZSTD_WINDOW_LOG = 23

const zstd = (): Transform => new ZstdFrames({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } })

/** The accepted Content-Encodings of HTTP: all that the Collector's exporters can send. */
export const HTTP_CODINGS: Codings = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  zlib: createInflate,
  zstd,
  snappy: () => new Decompress(new SnappyBlockOrFramed()),
  'x-snappy-framed': () => new Decompress(new SnappyFramed()),
  lz4: () => new Decompress(new Lz4Frame()),
}

/** The accepted grpc-encodings besides `identity`. Snappy over gRPC is always framed. */
export const GRPC_CODINGS: Codings = {
  deflate: createInflate,
  gzip: createGunzip,
  snappy: () => new Decompress(new SnappyFramed()),
  zstd,
}

/** The value of the `grpc-accept-encoding` header (gRPC, compression.md). */
export const GRPC_ACCEPT_ENCODING = ['identity', ...Object.keys(GRPC_CODINGS)].join(',')

/** How many bytes are decoded before the event loop runs other work. */
const SLICE_BYTES = 64 * 1024

/** A decoder as a stream. It yields to the event loop between slices, and stops when it is destroyed. */
class Decompress extends Transform {
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
