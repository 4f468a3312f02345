import { constants, zstdCompressSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { decoded } from './decoded.ts'
import { cutAt } from './steps.ts'

const CUTS = fc.array(fc.nat(2 ** 31 - 1), { maxLength: 20 })
const CONTENTS = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 9 }), fc.nat(300_000))
    .map(([bytes, length]) => Buffer.alloc(length, Buffer.from(bytes))),
)

interface Frame {
  readonly plain: Buffer
  readonly bytes: Buffer
}

const frames = fc
  .record({ plain: CONTENTS, hasSum: fc.boolean(), hasSize: fc.boolean(), level: fc.constantFrom(1, 3, 9) })
  .map(({ plain, hasSum, hasSize, level }): Frame => {
    const params = {
      [constants.ZSTD_c_checksumFlag]: hasSum ? 1 : 0,
      [constants.ZSTD_c_contentSizeFlag]: hasSize ? 1 : 0,
      [constants.ZSTD_c_compressionLevel]: level,
    }
    return { plain, bytes: zstdCompressSync(plain, { params }) }
  })

/** A frame without a meaning (RFC 8878, section 3.1.2). */
const skipped = (of: Uint8Array, nibble: number): Buffer => {
  const head = Buffer.alloc(8)
  head.writeUInt32LE(0x184d2a50 + nibble)
  head.writeUInt32LE(of.length, 4)
  return Buffer.concat([head, of])
}
const skippables = fc
  .tuple(fc.uint8Array({ maxLength: 40 }), fc.nat(15))
  .map(([of, nibble]): Frame => ({ plain: Buffer.alloc(0), bytes: skipped(of, nibble) }))

test('all frames of Zstandard are read, those to be skipped are, and a body may be cut anywhere', async () => {
  const body = fc.tuple(
    frames,
    fc.array(fc.oneof(frames, skippables), { maxLength: 4 }),
    fc.option(skippables),
  )
  await fc.assert(
    fc.asyncProperty(body, CUTS, async ([first, others, before], cuts) => {
      const all = [...(before === null ? [] : [before]), first, ...others]
      const plain = Buffer.concat(all.map((frame) => frame.plain))
      const parts = cutAt(Buffer.concat(all.map(({ bytes }) => bytes)), cuts)
      expect((await decoded('zstd', parts)).equals(plain)).toBe(true)
    }),
    { numRuns: 100 },
  )
})

test('what follows the frames and is none is not passed over, nor a frame that is cut short', async () => {
  const frame = zstdCompressSync(Buffer.from('spans'))
  for (const more of [Buffer.from('garbage'), Buffer.from('g'), frame.subarray(0, 2), frame.subarray(0, -1)])
    await expect(decoded('zstd', [Buffer.concat([frame, more])])).rejects.toThrow()
})

test('frames by the million are refused: each costs a turn', async () => {
  const empty = zstdCompressSync(Buffer.alloc(0))
  const many = Buffer.concat(Array.from({ length: 10_000 }, () => empty))
  await expect(decoded('zstd', [many])).rejects.toThrow('too many frames')
  const fewer = Buffer.concat(Array.from({ length: 1_000 }, () => empty))
  expect(await decoded('zstd', [fewer])).toHaveLength(0)
})
