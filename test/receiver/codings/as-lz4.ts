import { Xxh32 } from '../../../src/receiver/lz4.ts'
import type { Step } from './steps.ts'

const KIB = 1024

/** Steps as the sequences of an LZ4 block, which ends with literals. */
export function lz4Block(steps: readonly Step[], last: Buffer): Buffer {
  const sequences = steps.map(({ literal, back, length }) =>
    sequence(literal, Buffer.from([back & 0xff, back >> 8]), length - 4),
  )
  return Buffer.concat([...sequences, sequence(last, Buffer.alloc(0), 0)])
}

function sequence(literal: Buffer, offset: Buffer, match: number): Buffer {
  const token = (Math.min(literal.length, 15) << 4) | Math.min(match, 15)
  return Buffer.concat([Buffer.from([token]), more(literal.length), literal, offset, more(match)])
}

function more(length: number): Buffer {
  if (length < 15) return Buffer.alloc(0)
  const rest = length - 15
  return Buffer.concat([Buffer.alloc(Math.floor(rest / 255), 255), Buffer.from([rest % 255])])
}

interface Lz4Form {
  /** Whether blocks refer to the ones before. */
  linked?: boolean
  blockSums?: boolean
  /** The content, where the frame has its checksum and its length. */
  content?: Buffer
  /** 4 to 7: 64 KiB, 256 KiB, 1 MiB, 4 MiB. */
  size?: number
  flags?: number
}

/** A frame of blocks; those that are `raw` are not compressed. */
export function lz4Frame(blocks: readonly (Buffer | { raw: Buffer })[], form: Lz4Form = {}): Buffer {
  const { linked = false, blockSums = false, content, size = 7, flags = 0 } = form
  const flag = 0x40 | (linked ? 0 : 0x20) | (blockSums ? 0x10 : 0) | (content ? 0x0c : 0) | flags
  const length = Buffer.alloc(content === undefined ? 0 : 8)
  if (content !== undefined) length.writeBigUInt64LE(BigInt(content.length))
  const descriptor = Buffer.concat([Buffer.from([flag, size << 4]), length])
  const parts = blocks.flatMap((block) => {
    const bytes = Buffer.isBuffer(block) ? block : block.raw
    const head = word(bytes.length + (Buffer.isBuffer(block) ? 0 : 2 ** 31))
    return [head, bytes, ...(blockSums ? [word(xxh32(bytes))] : [])]
  })
  const end = [word(0), ...(content === undefined ? [] : [word(xxh32(content))])]
  const check = Buffer.from([(xxh32(descriptor) >>> 8) & 0xff])
  return Buffer.concat([word(0x184d2204), descriptor, check, ...parts, ...end])
}

export function lz4Skipped(bytes: Buffer): Buffer {
  return Buffer.concat([word(0x184d2a53), word(bytes.length), bytes])
}

/** A frame of so many zeros: a few kilobytes for a mebibyte. */
export function lz4Zeros(mebibytes: number): Buffer {
  const block = lz4Block([{ literal: Buffer.alloc(1), back: 1, length: 1024 * KIB - 6 }], Buffer.alloc(5))
  return lz4Frame(Array.from({ length: mebibytes }, () => block))
}

export function xxh32(bytes: Buffer): number {
  const sum = new Xxh32()
  sum.update(bytes)
  return sum.digest()
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
