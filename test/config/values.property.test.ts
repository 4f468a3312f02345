import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { InvalidValue } from '../../src/config/schema.ts'
import {
  DURATION,
  formatEndpoint,
  parseDuration,
  parseEndpoint,
  parseSize,
  POSITIVE_DURATION,
  POSITIVE_WAIT,
  size,
  WAIT,
} from '../../src/config/value-kinds.ts'

const NANOS = { h: 3600e9, m: 60e9, s: 1e9, ms: 1e6, us: 1e3, ns: 1 }
const unit = fc.constantFrom(...(Object.keys(NANOS) as (keyof typeof NANOS)[]))
const BYTES = { '': 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

test('a duration is the sum of its parts', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(99), unit), { minLength: 1 }), (parts) => {
      const text = parts.map(([count, name]) => `${count}${name}`).join('')
      const nanos = parts.reduce((sum, [count, name]) => sum + count * NANOS[name], 0)
      expect(parseDuration(text)).toBe(nanos / 1e6)
    }),
  )
})

test('a whole number of milliseconds comes back as it went in', () => {
  fc.assert(
    fc.property(fc.nat(2 ** 31), (ms) => {
      expect(parseDuration(`${ms}ms`)).toBe(ms)
      expect(parseDuration(`${ms / 1000}s`)).toBe(ms)
    }),
  )
})

test('a setting is in whole milliseconds, at least as long as it is written: timers and columns take no parts of one', () => {
  const longest = 20 * 24
  fc.assert(
    fc.property(
      fc.nat(longest * 1_000).map((count) => count / 1_000),
      unit,
      fc.constantFrom(DURATION, POSITIVE_DURATION, WAIT, POSITIVE_WAIT),
      (count, name, kind) => {
        const nanos = Math.round(count * NANOS[name])
        fc.pre(nanos > 0)
        expect(kind.read(`${count}${name}`)).toBe(Math.ceil(nanos / 1e6))
      },
    ),
  )
})

test('a number without a unit is no duration, but 0 is', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer({ min: 1 }), fc.double({ min: 0.1, max: 1e6, noNaN: true })),
      (number) => {
        expect(DURATION.read(number)).toBeInstanceOf(InvalidValue)
        expect(DURATION.read(String(number))).toBeInstanceOf(InvalidValue)
      },
    ),
  )
  expect(DURATION.read(0)).toBe(0)
  expect(DURATION.read('0')).toBe(0)
})

test.each([
  ['1h30m', 5_400_000],
  ['1.5h', 5_400_000],
  ['.5s', 500],
  ['1.s', 1000],
  ['+2s', 2000],
  ['1.1s', 1100],
  ['100µs', 0.1],
  ['100μs', 0.1],
  ['0s', 0],
])('%s is %d ms', (text, ms) => expect(parseDuration(text)).toBe(ms))

test.each([
  '',
  's',
  '1',
  '1.5',
  '-1s',
  '1 s',
  '1S',
  '1d',
  '1h 30m',
  '1e3s',
  '.s',
  '1h30',
  '999999999h',
  's1',
])('%j is no duration', (text) => expect(parseDuration(text)).toBeInstanceOf(InvalidValue))

test('days are answered with the hours to write instead', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), (days) => {
      const refusal = DURATION.read(`${days}d`)
      const [, hours = ''] = /write (.*)$/.exec(refusal instanceof InvalidValue ? refusal.reason : '') ?? []
      expect(parseDuration(hours)).toBe(days * 86_400_000)
    }),
  )
})

test('a size is its count times its unit', () => {
  fc.assert(
    fc.property(
      fc.nat(1_000_000),
      fc.constantFrom(...(Object.keys(BYTES) as (keyof typeof BYTES)[])),
      (count, name) => {
        expect(parseSize(`${count}${name}`)).toBe(count * BYTES[name])
        expect(size(0).read(count)).toBe(count)
      },
    ),
  )
})

test('any text is a number that is not negative, or refused; it never throws', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9.+-]{0,5}[a-zA-Z]{0,3}$/)), (text) => {
      for (const result of [parseDuration(text), parseSize(text)]) {
        if (result instanceof InvalidValue) expect(result.reason).not.toBe('')
        else expect(result).toBeGreaterThanOrEqual(0)
      }
    }),
  )
})

test.each(['4MB', '4 mib', '1.5GiB', '-1', '4TiB', '', 'MiB', '99999999999999999999', '9007199254740993GiB'])(
  '%j is no size',
  (text) => expect(parseSize(text)).toBeInstanceOf(InvalidValue),
)

test('an endpoint comes back as it went in', () => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6()), fc.nat(65535), (host, port) => {
      expect(parseEndpoint(formatEndpoint({ host, port }))).toEqual({ host, port })
    }),
  )
})
