import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { regularExpression } from '../../src/query/traces/regular-expression.ts'

const HEX = '0123456789abcdef'.repeat(2)

test.each([
  ['[0-9a-f]{32}', HEX, HEX.slice(1)],
  ['\\d{1,40}x', `${'1'.repeat(40)}x`, `${'1'.repeat(41)}x`],
  ['a{20,}', 'a'.repeat(50), 'a'.repeat(19)],
  ['\\p{2}.{17}[({]{3}', `pp${'.'.repeat(17)}({(`, 'p{2}'],
  ['(?:ab|c){2}x{18}', `abc${'x'.repeat(18)}`, `ab${'x'.repeat(18)}`],
  ['a{1,2', 'a{1,2', 'aa'],
])('%s means what it says', (pattern, text, other) => {
  expect(regularExpression(pattern)?.test(text)).toBe(true)
  expect(regularExpression(pattern)?.test(other)).toBe(false)
})

test('a piece that is repeated often matches as it would in one', () => {
  const count = fc.integer({ min: 0, max: 50 })
  fc.assert(
    fc.property(count, count, count, fc.boolean(), (from, more, length, isLazy) => {
      const pattern = `x[ab]{${from},${from + more}}${isLazy ? '?' : ''}b*`
      const text = `x${'ab'.repeat(50).slice(0, length)}`
      expect(regularExpression(pattern)?.test(text)).toBe(new RegExp(`^(?:${pattern})$`).test(text))
    }),
  )
})

test.each(['(a+)+', '(a|aa)+', '(a|a?)+', '(.*a){12}', 'a{0,100}a{0,100}a{0,100}b', '(?:(?:a+)+b?){9}'])(
  '%s comes to an end on a long text',
  (pattern) => {
    expect(regularExpression(pattern)?.test(`${'a'.repeat(3_000)}!`)).toBe(false)
  },
)

test.each(['(?:(a+)+b?){17}', '(?i:(a+)+)', '((a{4}){4}){4}', 'a{2000}', '(a)\\1', 'a(?=b)', '('])(
  '%s, which might never end or is none, is refused',
  (pattern) => {
    expect(regularExpression(pattern)).toBeUndefined()
  },
)
