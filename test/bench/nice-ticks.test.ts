import { expect, test } from '@jest/globals'
import { niceTicks, powersOfTen, shortNumber } from '../../lab/charts/nice-ticks.ts'

test.each([
  [100, [0, 20, 40, 60, 80, 100]],
  [123_456, [0, 25_000, 50_000, 75_000, 100_000, 125_000]],
  [0.7, [0, 0.2, 0.4, 0.6, 0.8]],
  [3, [0, 0.5, 1, 1.5, 2, 2.5, 3]],
  [0, [0, 1]],
])('up to %d there are round ticks', (most, ticks) => {
  expect(niceTicks(most)).toEqual(ticks)
})

test('powers of ten lie around the values, and are at least two', () => {
  expect(powersOfTen([20_000, 900_000])).toEqual([10_000, 100_000, 1_000_000])
  expect(powersOfTen([1_000])).toEqual([1_000, 10_000])
})

test('large numbers are short', () => {
  expect([0.25, 9_999, 25_000, 2_500_000].map(shortNumber)).toEqual(['0.25', '9,999', '25 k', '2.5 M'])
})
