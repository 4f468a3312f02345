import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import {
  MAX_EXPRESSIONS,
  MAX_PATTERN_LENGTH,
  MAX_PROGRAM_SIZE,
  regularExpression,
  type RegularExpression,
} from '../../src/query/traceql/evaluate-field.ts'

const HEX = '0123456789abcdef'.repeat(2)

function taken(pattern: string): RegularExpression {
  const expression = regularExpression(pattern)
  if ('wrong' in expression) throw new Error(expression.wrong)
  return expression
}

function whyNot(pattern: string): string {
  const expression = regularExpression(pattern)
  return 'wrong' in expression ? expression.wrong : 'taken'
}

test.each([
  ['[0-9a-f]{32}', HEX, HEX.slice(1)],
  ['\\d{1,40}x', `${'1'.repeat(40)}x`, `${'1'.repeat(41)}x`],
  ['a{20,}', 'a'.repeat(50), 'a'.repeat(19)],
  ['\\p{Greek}.{17}[({]{3}', `λ${'.'.repeat(17)}({(`, 'p{Greek}'],
  ['(?:ab|c){200}x{18}', `${'abc'.repeat(100)}${'x'.repeat(18)}`, `ab${'x'.repeat(18)}`],
  ['(?i:get|post) .*', 'GET /\n', 'PUT /'],
  ['a{1,2', 'a{1,2', 'aa'],
])('%s means what it says', (pattern, text, other) => {
  expect(taken(pattern).matches(text)).toBe(true)
  expect(taken(pattern).matches(other)).toBe(false)
})

test('counts mean what they mean elsewhere', () => {
  const count = fc.integer({ min: 0, max: 50 })
  fc.assert(
    fc.property(count, count, count, fc.boolean(), (from, more, length, isLazy) => {
      const pattern = `x[ab]{${from},${from + more}}${isLazy ? '?' : ''}b*`
      const text = `x${'ab'.repeat(50).slice(0, length)}`
      expect(taken(pattern).matches(text)).toBe(new RegExp(`^(?:${pattern})$`).test(text))
    }),
  )
})

test.each([
  '(a+)+',
  '(a|aa)+',
  '(a|a?)+',
  '(.*a){12}',
  'a{0,100}a{0,100}a{0,100}b',
  '(?:(?:a+)+b?){9}',
  '(?:(a+)+b?){17}',
  '(?i:(a+)+)',
  '((a{4}){4}){4}',
  '.*a.{500}b',
  '((a{1,10}){1,10}){1,10}',
])('%s comes to an end on a long text', (pattern) => {
  expect(taken(pattern).matches(`${'a'.repeat(4_000)}!`)).toBe(false)
})

test.each([
  ['a{2000}', 'invalid repeat count'],
  ['(a)\\1', 'invalid escape'],
  ['a(?=b)', 'unsupported'],
  ['(', 'missing closing'],
  ['(x{1,1000}){1,1000}', 'repeats too much'],
  ['(.?){1000}'.repeat(20), 'repeats too much'],
  ['.{0,1000}'.repeat(20), 'repeats too much'],
  ['a'.repeat(MAX_PATTERN_LENGTH + 1), `at most ${MAX_PATTERN_LENGTH}`],
])('%s is refused', (pattern, why) => {
  expect(whyNot(pattern)).toContain(why)
})

test('nothing that is taken is larger than it may be', () => {
  const piece = fc.constantFrom(
    'a',
    '.',
    '\\pL',
    '[^x]',
    '(',
    ')',
    '|',
    '?',
    '*',
    '{3}',
    '{0,9}',
    '{40,}',
    '(?i)',
    '\\b',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const expression = regularExpression(pieces.join(''))
      if ('size' in expression) expect(expression.size).toBeLessThanOrEqual(MAX_PROGRAM_SIZE)
    }),
  )
})

test('as many expressions are kept as a query may have, and no more', () => {
  const patterns = Array.from({ length: MAX_EXPRESSIONS }, (_, at) => `kept${at}`)
  const first = patterns.map(taken)
  expect(patterns.map(taken).every((expression, at) => expression === first[at])).toBe(true)
  taken('one more')
  expect(taken('kept0')).not.toBe(first[0])
})
