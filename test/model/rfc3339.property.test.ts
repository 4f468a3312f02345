import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { parseRfc3339, rfc3339 } from '../../src/model/time-and-size.ts'

const two = (value: number): string => String(value).padStart(2, '0')
const part = (max: number): fc.Arbitrary<number> => fc.integer({ min: 0, max })
const written = fc.tuple(
  fc.integer({ min: 1971, max: 2261 }),
  part(13),
  part(32),
  part(25),
  part(61),
  part(61),
)

test('of all that has the form of a time, those that a calendar and a clock have are read', () => {
  fc.assert(
    fc.property(written, ([year, month, day, hour, minute, second]) => {
      const text = `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}`
      const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second))
      const isReal = date.toISOString().startsWith(text)
      const ns = parseRfc3339(`${text}.000000001Z`)
      expect(ns === undefined ? undefined : rfc3339(ns)).toBe(isReal ? `${text}.000000001Z` : undefined)
      const west = parseRfc3339(`${text}-01:30`)
      expect(west).toBe(isReal ? BigInt(date.getTime() + 5_400_000) * 1_000_000n : undefined)
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  '2026-02-30T00:00:00Z',
  '2026-02-29T12:00:00+02:00',
  '2026-04-31T00:00:00Z',
  '2026-01-01T24:00:00Z',
])('there is no %s', (text) => expect(parseRfc3339(text)).toBeUndefined())
