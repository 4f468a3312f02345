import type { Encoding } from './span-template.ts'

/** Writes ids and times over those that a request already has. */
export interface InPlace {
  /** The `index`-th 32 bits of the id at `place`. */
  word: (bytes: Buffer, place: number, index: number, value: number) => void
  /** A time, as milliseconds since 1970 and the nanoseconds beyond. */
  time: (bytes: Buffer, place: number, ms: number, ns: number) => void
}

export const IN_PLACE: Record<Encoding, InPlace> = {
  protobuf: {
    word: (bytes, place, index, value) => void bytes.writeUInt32BE(value, place + index * 4),
    time: (bytes, place, ms, ns) => void bytes.writeBigUInt64LE(BigInt(ms) * 1_000_000n + BigInt(ns), place),
  },
  json: {
    word: (bytes, place, index, value) => writeHex(bytes, place + index * 8, value),
    time: (bytes, place, ms, ns) => {
      writeDecimal(bytes, place, MS_DIGITS, ms)
      writeDecimal(bytes, place + MS_DIGITS, NS_DIGITS, ns)
    },
  },
}

/** From 2001 to 2286. */
const MS_DIGITS = 13
const NS_DIGITS = 6
const ZERO = 48
const HEX_DIGITS = Buffer.from('0123456789abcdef')

/** 32 bits as eight hexadecimal digits. */
export function writeHex(bytes: Buffer, place: number, value: number): void {
  for (let digit = 0; digit < 8; digit++)
    bytes[place + digit] = HEX_DIGITS[(value >>> (28 - 4 * digit)) & 15] ?? ZERO
}

function writeDecimal(bytes: Buffer, place: number, digits: number, value: number): void {
  let rest = value
  for (let digit = digits - 1; digit >= 0; digit--) {
    const tenth = Math.floor(rest / 10)
    bytes[place + digit] = ZERO + rest - 10 * tenth
    rest = tenth
  }
}
