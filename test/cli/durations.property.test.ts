import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { duration as inTerminal } from '../../src/cli/text.ts'
import { duration as onPage } from '../../web/src/text/duration.ts'

/** What the page says, as the terminal writes it: without spaces, and without zeros that say nothing. */
const asInTerminal = (text: string): string =>
  text
    .replace(
      /^(\d+) min (\d+) s$/,
      (_, minutes: string, seconds: string) => `${minutes}m${seconds.padStart(2, '0')}s`,
    )
    .replace(
      /^(\d+) h (\d+) min$/,
      (_, hours: string, minutes: string) => `${hours}h${minutes.padStart(2, '0')}m`,
    )
    .replace(/\.?0+(?= )/, (zeros) => (zeros.startsWith('.') ? '' : zeros))
    .replace(/(\.\d*[1-9])0+(?= )/, '$1')
    .replace(' ', '')

const nanos = fc
  .tuple(fc.integer({ min: 0, max: 13 }), fc.integer({ min: 1, max: 99_999 }))
  .map(([power, digits]) => BigInt(digits) * 10n ** BigInt(power))
  .filter((ns) => ns < 86_400_000_000_000n)

test('the terminal and the page round durations alike', () => {
  fc.assert(
    fc.property(nanos, (ns) => {
      expect(inTerminal(ns)).toBe(asInTerminal(onPage(Number(ns) / 1e6)))
    }),
    { numRuns: 5_000 },
  )
})
