import { expect, test } from '@jest/globals'
import { asSnappy, SNAPPY_STREAM, snappyBlock, snappyChunk } from './as-snappy.ts'
import { lz4Block, lz4Frame, lz4Skipped, xxh32 } from './as-lz4.ts'
import { decoded } from './decoded.ts'
import { cutAt } from './steps.ts'

const NOTHING = Buffer.alloc(0)
const TEXT = Buffer.from('spans')
const WRONG_SUM = snappyChunk(0x01, TEXT, Buffer.from('other'))
const RESTLESS = Buffer.from([0x10, 0x61, 1, 0, 0])

test.each<[what: string, coding: string, body: Buffer, reason: RegExp]>([
  ['nothing as a block of Snappy', 'snappy', NOTHING, /too soon/],
  ['a length alone', 'snappy', snappyBlock(5, []), /too soon/],
  ['a length beyond 32 bits', 'snappy', Buffer.alloc(6, 0xff), /length/],
  ['a literal that is cut', 'snappy', snappyBlock(5, [Buffer.from([4 << 2, 1, 2])]), /too soon/],
  ['a head that is cut', 'snappy', snappyBlock(500, [Buffer.from([61 << 2, 1])]), /too soon/],
  ['more than the length', 'snappy', snappyBlock(1, [Buffer.from([1 << 2, 1, 2])]), /longer than declared/],
  ['less than the length', 'snappy', snappyBlock(3, [Buffer.from([1 << 2, 1, 2])]), /too soon/],
  [
    'a copy before the beginning',
    'snappy',
    snappyBlock(5, [Buffer.from([0, 1, 2 | (3 << 2), 2, 0])]),
    /before the start/,
  ],
  [
    'a copy of nothing',
    'snappy',
    snappyBlock(5, [Buffer.from([0, 1, 2 | (3 << 2), 0, 0])]),
    /before the start/,
  ],
  [
    'a block as a stream',
    'x-snappy-framed',
    asSnappy([{ literal: TEXT, back: 5, length: 5 }]),
    /does not begin/,
  ],
  [
    'another identifier',
    'x-snappy-framed',
    snappyChunk(0xff, Buffer.from('SnApPy')),
    /stream identifier is not/,
  ],
  [
    'a chunk that is cut',
    'x-snappy-framed',
    Buffer.concat([SNAPPY_STREAM, WRONG_SUM.subarray(0, 9)]),
    /too soon/,
  ],
  [
    'a wrong checksum of a chunk',
    'x-snappy-framed',
    Buffer.concat([SNAPPY_STREAM, WRONG_SUM]),
    /checksum is wrong/,
  ],
  [
    'a chunk without a checksum',
    'x-snappy-framed',
    Buffer.concat([SNAPPY_STREAM, snappyChunk(1, NOTHING)]),
    /no checksum/,
  ],
  [
    'a kind of chunk nobody knows',
    'x-snappy-framed',
    Buffer.concat([SNAPPY_STREAM, snappyChunk(2, TEXT)]),
    /unknown type/,
  ],
  [
    'a chunk above 64 KiB',
    'x-snappy-framed',
    Buffer.concat([SNAPPY_STREAM, snappyChunk(1, Buffer.alloc(65_537), Buffer.alloc(65_537))]),
    /more than 64 KiB/,
  ],
  [
    'a block above 64 KiB in a chunk',
    'x-snappy-framed',
    Buffer.concat([
      SNAPPY_STREAM,
      snappyChunk(0, asSnappy([{ literal: TEXT, back: 5, length: 65_532 }]), TEXT),
    ]),
    /more than 64 KiB/,
  ],
  [
    'a chunk above all bounds',
    'x-snappy-framed',
    Buffer.concat([SNAPPY_STREAM, Buffer.from([1, 0xff, 0xff, 0xff])]),
    /longer than/,
  ],
  ['nothing as LZ4', 'lz4', NOTHING, /too soon/],
  ['no LZ4', 'lz4', Buffer.from('not LZ4'), /does not begin/],
  ['a frame that is skipped alone', 'lz4', lz4Skipped(TEXT), /too soon/],
  ['a frame without an end', 'lz4', lz4Frame([{ raw: TEXT }]).subarray(0, -4), /too soon/],
  ['another version', 'lz4', lz4Frame([], { flags: 0x80 }), /version/],
  ['a dictionary', 'lz4', lz4Frame([], { flags: 0x01 }), /dictionary/],
  ['a flag nobody knows', 'lz4', lz4Frame([], { flags: 0x02 }), /frame descriptor is invalid/],
  ['a size nobody knows', 'lz4', lz4Frame([], { size: 3 }), /frame descriptor is invalid/],
  ['a wrong checksum of the head', 'lz4', spoiled(lz4Frame([]), 6), /checksum is wrong/],
  [
    'a wrong checksum of a block',
    'lz4',
    spoiled(lz4Frame([{ raw: TEXT }], { blockSums: true }), 13),
    /checksum is wrong/,
  ],
  [
    'a wrong checksum of the content',
    'lz4',
    lz4Frame([{ raw: TEXT }], { content: Buffer.from('other') }),
    /checksum is wrong/,
  ],
  ['a wrong length', 'lz4', spoiledLength(), /length is not the declared one/],
  [
    'a raw block above the size of the frame',
    'lz4',
    lz4Frame([{ raw: Buffer.alloc(65_537) }], { size: 4 }),
    /longer than/,
  ],
  [
    'a block that makes more than the size of the frame',
    'lz4',
    lz4Frame([lz4Block([{ literal: TEXT, back: 1, length: 65_532 }], NOTHING)], { size: 4 }),
    /longer than/,
  ],
  ['literals without end', 'lz4', lz4Frame([Buffer.alloc(500, 255)], { size: 4 }), /longer than/],
  ['a block that ends amid its literals', 'lz4', lz4Frame([Buffer.from([0x50, 1, 2])]), /too soon/],
  ['a block that ends amid an offset', 'lz4', lz4Frame([Buffer.from([0x10, 1, 2])]), /too soon/],
  ['a block that ends with a repetition', 'lz4', lz4Frame([RESTLESS.subarray(0, 4)]), /too soon/],
  ['a repetition of nothing', 'lz4', lz4Frame([Buffer.from([0x10, 1, 0, 0, 0])]), /before the start/],
])('%s is corrupt', async (_, coding, body, reason) => {
  await expect(decoded(coding, [body])).rejects.toThrow(reason)
  await expect(decoded(coding, cutAt(body, [3, 7, 11]))).rejects.toThrow(reason)
})

/** With one byte changed. */
function spoiled(bytes: Buffer, at: number): Buffer {
  bytes[at] = (bytes[at] ?? 0) ^ 0x10
  return bytes
}

/** A frame whose head is right in itself and names another length than its content has, without a checksum of that. */
function spoiledLength(): Buffer {
  const frame = lz4Frame([{ raw: TEXT }], { content: Buffer.from('other!') })
  const descriptor = Buffer.from(frame.subarray(4, 14))
  descriptor[0] = (descriptor[0] ?? 0) & ~0x04
  return Buffer.concat([
    frame.subarray(0, 4),
    descriptor,
    Buffer.from([(xxh32(descriptor) >>> 8) & 0xff]),
    frame.subarray(15, -4),
  ])
}
