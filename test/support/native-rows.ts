import { expect } from '@jest/globals'
import type { Rows } from '../../src/exporter/clickhouse/native-block.ts'

type Read = (count: number) => unknown[]

/** The rows of a block of ClickHouse's format Native: UUIDs as they are written, numbers of 64 bits as bigints, maps as lists of pairs. */
export function nativeRows(of: Rows): unknown[][] {
  const bytes = of.block(0, of.count)
  let at = 0
  const take = (size: number): number => (at += size) - size
  const times = <T>(count: number, read: () => T): T[] => Array.from({ length: count }, read)
  const int64 = (): bigint => bytes.readBigUInt64LE(take(8))
  const varint = (): number => {
    const byte = bytes.readUInt8(take(1))
    return byte < 0x80 ? byte : byte - 0x80 + 0x80 * varint()
  }
  const text = (): string => {
    const size = varint()
    const from = take(size)
    return bytes.toString('utf8', from, from + size)
  }
  const uuid = (): string => {
    const half = (): string => int64().toString(16).padStart(16, '0')
    return (half() + half()).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  }
  const plain: Record<string, () => unknown> = {
    ...{ String: text, UUID: uuid, UInt64: int64, Int64: () => bytes.readBigInt64LE(take(8)) },
    ...{ DateTime64: () => bytes.readBigInt64LE(take(8)), Float64: () => bytes.readDoubleLE(take(8)) },
    ...{ UInt8: () => bytes.readUInt8(take(1)), Date: () => bytes.readUInt16LE(take(2)) },
    UInt32: () => bytes.readUInt32LE(take(4)),
  }
  const ends = (count: number): number[] => times(count, () => Number(int64()))
  const cut = (ends: readonly number[], all: readonly unknown[]): unknown[][] =>
    ends.map((end, place) => all.slice(ends[place - 1] ?? 0, end))
  const words = (isNullable: boolean): Read => {
    expect(int64()).toBe(1n)
    return (count) => {
      if (count === 0) return []
      const kind = Number(int64())
      const keys: unknown[] = times(Number(int64()), text)
      if (isNullable) keys[0] = null
      expect(Number(int64())).toBe(count)
      const width = { 0x600: 1, 0x601: 2, 0x602: 4 }[kind] ?? 0
      return times(count, () => keys[bytes.readUIntLE(take(width), width)])
    }
  }
  /** Reads what comes before all values. */
  const begin = (type: string): Read => {
    const [, outer = '', inner = ''] = /^(\w+)(?:\((.*)\))?$/.exec(type) ?? []
    if (outer === 'LowCardinality') return words(inner.startsWith('Nullable'))
    if (outer === 'Nullable') {
      const read = begin(inner)
      return (count) => {
        const areNull = times(count, () => bytes.readUInt8(take(1)) === 1)
        return read(count).map((value, place) => (areNull[place] === true ? null : value))
      }
    }
    if (outer === 'Array') {
      const read = begin(inner)
      return (count) => {
        const places = ends(count)
        return cut(places, read(places.at(-1) ?? 0))
      }
    }
    if (outer === 'Map') {
      const [keys, values] = inner.split(/, (?=\w+$)/).map(begin)
      return (count) => {
        const places = ends(count)
        const all = keys?.(places.at(-1) ?? 0) ?? []
        const each = values?.(all.length) ?? []
        return cut(
          places,
          all.map((key, place) => [key, each[place]]),
        )
      }
    }
    const one = plain[outer]
    if (one === undefined) throw new Error(`a block has a column of ${type}`)
    return (count) => times(count, one)
  }
  const columns = varint()
  const rows = times(varint(), (): unknown[] => [])
  for (let column = 0; column < columns; column++) {
    text()
    begin(text())(rows.length).forEach((value, row) => rows[row]?.push(value))
  }
  expect(at).toBe(bytes.length)
  return rows
}
