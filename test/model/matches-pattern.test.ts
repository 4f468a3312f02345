import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { matchesPattern } from '../../src/model/untrusted-names.ts'

test('a * stands for any characters', () => {
  const piece = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*') })
  fc.assert(
    fc.property(piece, fc.string({ unit: fc.constantFrom('a', 'b', '.') }), (pattern, text) => {
      const parts = pattern.split('*').map((part) => part.replaceAll('.', '\\.'))
      expect(matchesPattern(pattern, text)).toBe(new RegExp(`^${parts.join('.*')}$`).test(text))
    }),
  )
})
