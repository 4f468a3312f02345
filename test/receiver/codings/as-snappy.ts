import { crc32c } from '../../../src/receiver/snappy.ts'
import type { Step } from './steps.ts'

const LONGEST_COPY = 64

/** Steps in Snappy's block format. */
export function asSnappy(steps: readonly Step[], isWide = false): Buffer {
  const length = steps.reduce((sum, step) => sum + step.literal.length + step.length, 0)
  return snappyBlock(
    length,
    steps.flatMap(({ literal, back, length: copied }) => [
      literalHead(literal.length, isWide),
      literal,
      ...copies(back, copied, isWide),
    ]),
  )
}

export function snappyBlock(length: number, elements: readonly Buffer[]): Buffer {
  const preamble: number[] = []
  let rest = length
  for (; rest >= 128; rest = Math.floor(rest / 128)) preamble.push((rest % 128) + 128)
  return Buffer.concat([Buffer.from([...preamble, rest]), ...elements])
}

function literalHead(length: number, isWide: boolean): Buffer {
  if (length === 0) return Buffer.alloc(0)
  if (length <= 60 && !isWide) return Buffer.from([(length - 1) << 2])
  const bytes = isWide ? 4 : length <= 256 ? 1 : 2
  const head = Buffer.from([(59 + bytes) << 2, 0, 0, 0, 0]).subarray(0, 1 + bytes)
  head.writeUIntLE(length - 1, 1, bytes)
  return head
}

function copies(back: number, length: number, isWide: boolean): Buffer[] {
  const elements: Buffer[] = []
  for (let left = length; left > 0; left -= LONGEST_COPY)
    elements.push(copyElement(back, Math.min(left, LONGEST_COPY), isWide))
  return elements
}

function copyElement(back: number, length: number, isWide: boolean): Buffer {
  if (!isWide && length >= 4 && length <= 11 && back < 2048)
    return Buffer.from([1 | ((length - 4) << 2) | ((back >> 8) << 5), back & 0xff])
  const [form, bytes] = isWide || back >= 2 ** 16 ? [3, 4] : [2, 2]
  const element = Buffer.from([form | ((length - 1) << 2), 0, 0, 0, 0]).subarray(0, 1 + bytes)
  element.writeUIntLE(back, 1, bytes)
  return element
}

/** A chunk of framed Snappy; with a checksum where it stands for something. */
export function snappyChunk(kind: number, body: Buffer, plain?: Buffer): Buffer {
  const head = Buffer.alloc(4)
  const sum = Buffer.alloc(plain === undefined ? 0 : 4)
  head[0] = kind
  head.writeUIntLE(sum.length + body.length, 1, 3)
  if (plain !== undefined) {
    const crc = crc32c(plain)
    sum.writeUInt32LE((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0)
  }
  return Buffer.concat([head, sum, body])
}

export const SNAPPY_STREAM = snappyChunk(0xff, Buffer.from('sNaPpY'))
