import { expect, test } from '@jest/globals'
import { count, duration, printable, textTable } from '../../src/cli/text.ts'

test.each([
  [0n, '0ns'],
  [999n, '999ns'],
  [1_000n, '1µs'],
  [1_230n, '1.23µs'],
  [999_999n, '1ms'],
  [12_300_000n, '12.3ms'],
  [1_006_000_000n, '1.01s'],
  [1_050_000_000n, '1.05s'],
  [59_949_000_000n, '59.9s'],
  [59_999_000_000n, '1m00s'],
  [60_000_000_000n, '1m00s'],
  [3_599_000_000_000n, '59m59s'],
  [3_720_000_000_000n, '1h02m'],
  [90_000_000_000_000n, '25h00m'],
  [-1_500_000n, '-1.5ms'],
])('%i ns is %s', (ns, text) => {
  expect(duration(ns)).toBe(text)
})

test('text from outside stays on its line', () => {
  expect(printable('a\nb\u001b[2Jc\u0085')).toBe('a\ufffdb\ufffd[2Jc\ufffd')
  expect([printable(''), printable(undefined), printable('ä → b')]).toEqual(['-', '-', 'ä → b'])
})

test('counts', () => {
  expect([count(0, 'span'), count(1, 'span'), count(2, 'span')]).toEqual(['0 spans', '1 span', '2 spans'])
})

test('columns are aligned', () => {
  expect(
    textTable(
      ['name', ' n'],
      [
        ['a', '10'],
        ['long', '1'],
      ],
    ),
  ).toEqual(['name   n', 'a     10', 'long   1'])
})

test.each(['\u202e', '\u2066', '\u200b', '\u061c', '\ufeff', '\u{e0041}', '\u001b', '\u009b', '\n'])(
  'a name with the character %j is shown without it',
  (character) => {
    expect(printable(`web${character}txt.sh`)).toBe('web\ufffdtxt.sh')
  },
)
