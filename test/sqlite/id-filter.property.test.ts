import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { TraceIdBloomFilter } from '../../src/store/sqlite/trace-id-index.ts'

const latin1 = (id: Uint8Array): string => Buffer.from(id).toString('latin1')
const ids = fc.array(fc.uint8Array({ minLength: 16, maxLength: 16 }).map(latin1), { maxLength: 200 })

/** Ids as counters make them: they differ in a few bits only. */
function counted(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, at) => {
    const id = Buffer.alloc(16)
    id.writeUInt32BE(from + at, 12)
    return id.toString('latin1')
  })
}

test('an added id is never reported as absent, however full the filter is', () => {
  fc.assert(
    fc.property(ids, fc.integer({ min: 0, max: 300 }), (drawn, expected) => {
      const filter = new TraceIdBloomFilter(expected)
      const bytes = Buffer.from(drawn.join(''), 'latin1')
      drawn.forEach((key, at) => (at % 2 === 0 ? filter.addKey(key) : filter.add(bytes, at * 16)))
      expect(drawn.filter((key) => !filter.mayHaveKey(key))).toEqual([])
    }),
  )
})

test('filled to its capacity, it is right about 95 in a hundred others, though ids be counted up', () => {
  const filter = new TraceIdBloomFilter(10_000)
  expect(filter.capacity).toBeGreaterThanOrEqual(10_000)
  for (const key of counted(0, filter.capacity)) filter.addKey(key)
  const wrong = counted(1_000_000, 10_000).filter((key) => filter.mayHaveKey(key))
  expect(wrong.length).toBeLessThan(500)
})

test('it takes 32 MiB at most', () => {
  expect(new TraceIdBloomFilter(2 ** 31).capacity).toBe(2 ** 25)
})
