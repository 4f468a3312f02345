import type { Transform } from 'node:stream'
import { constants, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { Decompress } from './decompress.ts'
import { Lz4Frame } from './lz4-frame.ts'
import { SnappyEither } from './snappy-either.ts'
import { SnappyFramed } from './snappy-framed.ts'

export type Codings = Readonly<Record<string, () => Transform>>

/** The window RFC 8878 asks decoders to support; a frame that asks for more could take more than the size limit. */
const ZSTD_WINDOW_LOG = 23

const zstd = (): Transform =>
  createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } })

/** Each Content-Encoding that is taken over HTTP: all that the Collector's exporters have. */
export const HTTP_CODINGS: Codings = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  zlib: createInflate,
  zstd,
  snappy: () => new Decompress(new SnappyEither()),
  'x-snappy-framed': () => new Decompress(new SnappyFramed()),
  lz4: () => new Decompress(new Lz4Frame()),
}

/** Each grpc-encoding that is taken, besides `identity`; to gRPC Snappy is always framed. */
export const GRPC_CODINGS: Codings = {
  deflate: createInflate,
  gzip: createGunzip,
  snappy: () => new Decompress(new SnappyFramed()),
  zstd,
}

/** What is sent to be told which grpc-encodings are taken (gRPC, compression.md). */
export const GRPC_ACCEPT_ENCODING = ['identity', ...Object.keys(GRPC_CODINGS)].join(',')
