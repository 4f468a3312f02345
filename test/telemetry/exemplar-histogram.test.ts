import { expect, test } from '@jest/globals'
import type { Exemplar } from '../../src/model/linker-settings-and-metrics.ts'
import { ExemplarHistogram } from '../../src/platform/openmetrics.ts'

const of = (value: number, traceId = 'a'): Exemplar => ({ value, timeMs: 1_000, traceId, spanId: 'b' })

test('a value on a bound is within it; the last bucket has no bound; each keeps its latest exemplar', () => {
  const histogram = new ExemplarHistogram([1, 2])
  for (const exemplar of [of(0.5, 'first'), of(1, 'second'), of(2.5, 'third')])
    histogram.observe([], exemplar)
  expect(histogram.series).toEqual([
    { labels: [], counts: [2, 0, 1], sum: 4, exemplars: [of(1, 'second'), undefined, of(2.5, 'third')] },
  ])
})

test('beyond its limit further label values count as other, and stay so', () => {
  const histogram = new ExemplarHistogram([1], 2)
  for (const service of ['one', 'two', 'three', 'four', 'one']) histogram.observe([service, 'v1/pods'], of(0))
  const counted = (): unknown => histogram.series.map(({ labels, counts }) => [...labels, counts[0]])
  expect(counted()).toEqual([
    ['one', 'v1/pods', 2],
    ['two', 'v1/pods', 1],
    ['other', 'other', 2],
  ])
  histogram.take()
  for (const service of ['three', 'two']) histogram.observe([service, 'v1/pods'], of(0))
  expect(counted()).toEqual([
    ['other', 'other', 1],
    ['two', 'v1/pods', 1],
  ])
})

test('what is taken in parts is the same merged as observed at once', () => {
  const [part, whole, merged] = [1, 2, 3].map(() => new ExemplarHistogram([1, 2]))
  for (const value of [0.5, 1.5, 3]) {
    part?.observe(['s'], of(value))
    whole?.observe(['s'], of(value))
    merged?.merge(part?.take() ?? [])
  }
  expect(merged?.series).toEqual(whole?.series)
  expect(part?.take()).toEqual([])
})

test('very long label values are cut', () => {
  const histogram = new ExemplarHistogram([1])
  histogram.observe(['x'.repeat(5_000)], of(0))
  expect(histogram.series[0]?.labels[0]).toHaveLength(200)
})
