import { test } from '@jest/globals'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { JSON_TYPE, post, PROTOBUF } from '../../../lab/harness/clients/http-sender.ts'
import { sendRawGrpc } from '../../../lab/harness/clients/raw-grpc.ts'
import { EXPORT_METHODS } from '../../../lab/harness/export-methods.ts'
import { AttackedCauseway, leaveNothingBehind } from '../attacked-causeway.ts'

const MIB = 2 ** 20
const FOR_MS = 5_000
const ATTACKERS_OF_EACH = 2

leaveNothingBehind()

/** Zeros, compressed so that they inflate to so many mebibytes. */
function bomb(compress: (bytes: Buffer) => Buffer, mebibytes: number): Buffer {
  const member = compress(Buffer.alloc(64 * MIB))
  return Buffer.concat(Array.from({ length: mebibytes / 64 }, () => member))
}

const gzip = bomb(gzipSync, 1024)
const zstd = bomb(zstdCompressSync, 1024)
const twice = gzipSync(gzip)
const thrice = gzipSync(zstdCompressSync(twice))

/** Bodies, and what they say of themselves. */
const OVER_HTTP: readonly (readonly [coding: string, body: Buffer])[] = [
  ['gzip', gzip],
  ['gzip', twice],
  ['gzip, gzip', twice],
  [Array.from({ length: 500 }, () => 'gzip').join(', '), twice],
  ['gzip, zstd, gzip', thrice],
  ['zstd', zstd],
  ['zstd', zstdCompressSync(gzip)],
  ['deflate', deflateSync(Buffer.alloc(128 * MIB))],
  ['br', brotliCompressSync(Buffer.alloc(8 * MIB))],
  ['lz4', gzip],
  ['snappy', zstd],
  ['x-snappy-framed', twice],
  ['identity, gzip', gzip],
]

const OVER_GRPC: readonly (readonly [coding: string, body: Buffer])[] = [
  ['gzip', gzip],
  ['gzip', twice],
  ['gzip, gzip', twice],
  ['deflate', deflateSync(Buffer.alloc(128 * MIB))],
  ['zstd', zstd],
  ['snappy', gzip],
]

test('bombs within bombs, in every coding, over HTTP and gRPC', async () => {
  await using causeway = await AttackedCauseway.start()
  await causeway.withstands(
    async ({ ports }, signal) => {
      const again = async (send: () => Promise<unknown>): Promise<void> => {
        while (!signal.aborted) await send().catch(() => undefined)
      }
      const overHttp = OVER_HTTP.flatMap(([coding, body]) =>
        [PROTOBUF, JSON_TYPE].map((type) =>
          again(() => post(ports.http, '/v1/traces', { ...type, 'content-encoding': coding }, body)),
        ),
      )
      const overGrpc = OVER_GRPC.flatMap(([encoding, payload]) =>
        Array.from({ length: ATTACKERS_OF_EACH }, () =>
          again(() => sendRawGrpc(ports.grpc, { path: EXPORT_METHODS.traces.path, encoding, payload })),
        ),
      )
      await Promise.all([...overHttp, ...overGrpc])
    },
    { what: 'bombs within bombs', longestMs: FOR_MS },
  )
})
