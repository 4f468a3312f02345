import { describeNode, textOf, valueOf } from '../tree/raw-node.ts'
import { refuse, type InvalidValue, type ValueKind } from './field.ts'
import { ownValue } from '../../model/own-value.ts'

const BYTES: Readonly<Record<string, number>> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }
const SIZE = /^(\d+) ?(KiB|MiB|GiB|)$/
const NEAR_SIZE = /^(\d+) ?([kmg])i?b?$/i
const SIZE_WANTED = 'must be a whole number of bytes or a size such as 512KiB, 4MiB or 20GiB'

/** Bytes of a size such as `4MiB`; a bare number is bytes. */
export function parseSize(text: string): number | InvalidValue {
  const [, count, unit] = SIZE.exec(text) ?? []
  if (count === undefined || unit === undefined) {
    const [, near, letter] = NEAR_SIZE.exec(text) ?? []
    const hint = near !== undefined && letter !== undefined ? `; write ${near}${letter.toUpperCase()}iB` : ''
    return refuse(`${SIZE_WANTED}, got ${JSON.stringify(text)}${hint}`)
  }
  const bytes = Number(count) * (ownValue(BYTES, unit) ?? NaN)
  return Number.isSafeInteger(bytes) ? bytes : refuse(`is more bytes than can be counted, got ${text}`)
}

/** A size of at least `least` bytes. */
export function size(least: number): ValueKind<number> {
  return {
    type: 'size',
    read: (node) => {
      const value = valueOf(node)
      const text = typeof value === 'number' && Number.isInteger(value) ? String(value) : textOf(node)
      if (text === undefined) return refuse(`${SIZE_WANTED}, got ${describeNode(node)}`)
      const bytes = parseSize(text)
      return typeof bytes === 'number' && bytes < least
        ? refuse(`must be at least ${least}, got ${text}`)
        : bytes
    },
  }
}
