import { expect, test } from '@jest/globals'
import { avoidablePart } from '../../lab/evaluation/merges/criteria.ts'
import { readOptions } from '../../lab/evaluation/options.ts'
import { lineChart } from '../../lab/charts/line-chart.ts'
import { medianInterval, quartilesOf, sampleOf } from '../../lab/evaluation/statistics.ts'

const DEFAULTS = { reports: 'reports', scratch: () => 'scratch' }

test('mean, standard error and extremes', () => {
  const { mean, standardError, min, max } = sampleOf([2, 4, 4, 4, 5, 5, 7, 9])
  expect({ mean, min, max }).toEqual({ mean: 5, min: 2, max: 9 })
  // The sample's variance is 32 / 7.
  expect(standardError).toBeCloseTo(Math.sqrt(32 / 7 / 8), 12)
  expect(sampleOf([3])).toEqual({ mean: 3, standardError: 0, min: 3, max: 3 })
})

test('quartiles lie between values, in whatever order they come', () => {
  expect(quartilesOf([4, 1, 3, 2])).toEqual({ median: 2.5, lower: 1.75, upper: 3.25 })
  expect(quartilesOf([7])).toEqual({ median: 7, lower: 7, upper: 7 })
})

test('the median of a hundred values lies between the 40th from either end', () => {
  const values = Array.from({ length: 100 }, (_, at) => 100 - at)
  expect(medianInterval(values)).toEqual({ from: 40, to: 61 })
  expect(medianInterval([3, 1, 2])).toEqual({ from: 1, to: 3 })
})

test('the avoidable part is 1 without ancestors and 0 at the floor', () => {
  expect(avoidablePart(255, 255)).toBe(1)
  expect(avoidablePart(35, 255)).toBe(0)
})

test('a quick run does not write over the committed figures unless told to', () => {
  expect(readOptions(['--quick'], DEFAULTS)).toMatchObject({ out: 'scratch', pairs: 1 })
  expect(readOptions([], DEFAULTS)).toMatchObject({ out: 'reports', seeds: 10 })
  expect(readOptions(['--only', 'merges', '--pairs', '3'], DEFAULTS)).toMatchObject({
    parts: ['merges'],
    pairs: 3,
  })
})

test.each([
  [['--only', 'merge'], /--only merge: write merges or overhead/],
  [['--pairs', '0'], /--pairs 0: write a whole number from 1/],
  [['--fast'], /--fast/],
])('options %j say what is wrong', (args, message) => {
  expect(() => readOptions(args, DEFAULTS)).toThrow(message)
})

test('a chart places points by its ticks and draws error bars only where there is spread', () => {
  const chart = lineChart({
    title: 'a < b',
    description: 'two points',
    x: { label: 'x', ticks: [0, 10] },
    y: { label: 'y', ticks: [0, 100] },
    series: [
      {
        name: 'one',
        look: 'first',
        points: [
          { x: 0, y: 0 },
          { x: 10, y: 100, spread: { from: 50, to: 100 } },
        ],
      },
    ],
  })
  expect(chart).toContain('a &lt; b')
  expect(chart).toContain('d="M72 364L696 72"')
  expect(chart.match(/class="bar/g)).toHaveLength(1)
})
