import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { crc32c } from '../../../src/receiver/snappy.ts'
import { lz4Block, lz4Frame, lz4Skipped, xxh32 } from './as-lz4.ts'
import { asSnappy, SNAPPY_STREAM, snappyChunk } from './as-snappy.ts'
import { decoded } from './decoded.ts'
import { ENCODED } from './encoded-by-go.ts'
import { cutAt, meaningOf, type Step, stepsArbitrary } from './steps.ts'

const KIB = 1024
const CUTS = fc.array(fc.nat(2 ** 31 - 1), { maxLength: 20 })
const NOTHING = Buffer.alloc(0)

test.each(ENCODED)(
  'what Go made of $content with $coding is read, at once and byte by byte',
  async ({ coding, plain, bytes }) => {
    const name = coding.replace(/,.*$/, '')
    const single = [...bytes].map((byte) => Buffer.from([byte]))
    for (const parts of [[bytes], single]) expect((await decoded(name, parts)).equals(plain)).toBe(true)
  },
)

test('what Go made with x-snappy-framed is read as snappy too, as Collectors before v0.131 send it', async () => {
  for (const { plain, bytes } of ENCODED.filter(
    ({ coding, plain }) => coding === 'x-snappy-framed' && plain.length > 0,
  ))
    expect((await decoded('snappy', [bytes])).equals(plain)).toBe(true)
})

test('the checksums are those of their specifications', () => {
  // RFC 3720, appendix B.4, and the sanity checks of the reference xxHash.
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa)
  expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8ab43)
  expect(xxh32(NOTHING)).toBe(0x02cc5d05)
  expect(xxh32(Buffer.from('Nobody inspects the spammish repetition'))).toBe(0xe2293b2f)
})

test('a Snappy block may repeat what stands anywhere before, and be cut anywhere', async () => {
  await fc.assert(
    fc.asyncProperty(stepsArbitrary(2 ** 31), fc.boolean(), CUTS, async (steps, isWide, cuts) => {
      const read = await decoded('snappy', cutAt(asSnappy(steps, isWide), cuts))
      expect(read.equals(meaningOf(steps))).toBe(true)
    }),
    { numRuns: 40 },
  )
})

test('framed Snappy takes chunks of both kinds, skips what may be skipped, and streams one after the other', async () => {
  const plain = Buffer.alloc(64 * KIB, 'spans')
  const whole: Step[] = [{ literal: plain.subarray(0, 5), back: 5, length: plain.length - 5 }]
  const body = Buffer.concat([
    SNAPPY_STREAM,
    snappyChunk(0x00, asSnappy(whole), plain),
    snappyChunk(0xfe, Buffer.alloc(70_000)),
    snappyChunk(0x80, NOTHING),
    SNAPPY_STREAM,
    snappyChunk(0x01, plain, plain),
    snappyChunk(0x01, NOTHING, NOTHING),
    snappyChunk(0x00, asSnappy([]), NOTHING),
  ])
  const [at, single] = [
    await decoded('x-snappy-framed', [body]),
    await decoded('x-snappy-framed', cutAt(body, [1, 3, 20, 5_000])),
  ]
  expect(at.equals(Buffer.concat([plain, plain]))).toBe(true)
  expect(single.equals(at)).toBe(true)
})

test('blocks of LZ4 may refer to the ones before, be raw, have checksums, and be cut anywhere', async () => {
  const steps = fc.array(fc.tuple(stepsArbitrary(65_535), fc.boolean()), { minLength: 1, maxLength: 3 })
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), fc.boolean(), CUTS, async (drawn, blockSums, hasContent, cuts) => {
      const last = Buffer.from('the last')
      const blocks = drawn.map(([of, isRaw]) => {
        const plain = Buffer.concat([meaningOf(of), last])
        return { plain, block: isRaw ? { raw: plain } : lz4Block(of, last) }
      })
      const content = Buffer.concat(blocks.map(({ plain }) => plain))
      const frame = lz4Frame(
        blocks.map(({ block }) => block),
        { blockSums, linked: true, ...(hasContent && { content }) },
      )
      const body = Buffer.concat([lz4Skipped(Buffer.alloc(11)), frame, frame])
      expect((await decoded('lz4', cutAt(body, cuts))).equals(Buffer.concat([content, content]))).toBe(true)
    }),
    { numRuns: 40 },
  )
})

test('a linked block of LZ4 repeats what the block before made', async () => {
  const first = Buffer.alloc(60_000, 'abc')
  const blocks = [
    { raw: first },
    lz4Block([{ literal: NOTHING, back: 60_000, length: 70_000 }], Buffer.from('end')),
  ]
  const content = meaningOf([
    { literal: first, back: 60_000, length: 70_000 },
    { literal: Buffer.from('end'), back: 1, length: 0 },
  ])
  const linked = lz4Frame(blocks, { linked: true, content, blockSums: true })
  expect((await decoded('lz4', [linked])).equals(content)).toBe(true)
  await expect(decoded('lz4', [lz4Frame(blocks)])).rejects.toThrow('a copy refers to bytes before the start')
})
