import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { LinkedSpan } from '../../src/model/queries.ts'
import { durationNs, spanTimes, spanTree } from '../../src/query/span-tree.ts'
import { anyTrace } from './any-trace.ts'
import { linkedSpan } from './linked-span.ts'

function timesOf(spans: readonly LinkedSpan[]): [name: string, self: number, wait: number][] {
  const times = spanTimes(spanTree(spans))
  return spans.map((span) => {
    const { selfNs = -1n, waitNs = -1n } = times.get(span) ?? {}
    return [span.name, Number(selfNs), Number(waitNs)]
  })
}

test('self time is what no span below covers, however they overlap', () => {
  const spans = [
    linkedSpan(1, 0, { startNs: 0n, endNs: 100n }),
    linkedSpan(2, 1, { startNs: 10n, endNs: 30n }),
    linkedSpan(3, 1, { startNs: 20n, endNs: 40n }),
    linkedSpan(4, 1, { startNs: 25n, endNs: 28n }),
    linkedSpan(5, 1, { startNs: 90n, endNs: 200n }),
  ]
  expect(timesOf(spans)[0]).toEqual(['span 1', 60, 0])
})

test('what a span caused is not its own work, and waited for it', () => {
  const spans = [
    linkedSpan(1, 0, { startNs: 0n, endNs: 100n }),
    linkedSpan(2, 1, { startNs: 130n, endNs: 140n, byCause: true }),
    linkedSpan(3, 1, { startNs: 50n, endNs: 60n, byCause: true }),
  ]
  expect(timesOf(spans)).toEqual([
    ['span 1', 100, 0],
    ['span 2', 10, 30],
    ['span 3', 10, 0],
  ])
})

test('spans of Causeway itself cover nothing', () => {
  const spans = [
    linkedSpan(1, 0, { startNs: 0n, endNs: 100n }),
    linkedSpan(2, 1, { startNs: 0n, endNs: 100n, row: undefined }),
  ]
  expect(timesOf(spans)[0]).toEqual(['span 1', 100, 0])
})

test('whatever the spans, self time is what an observer of every nanosecond would count', () => {
  fc.assert(
    fc.property(anyTrace(), (spans) => {
      const tree = spanTree(spans)
      const times = spanTimes(tree)
      for (const { span } of tree) {
        const own = tree.filter(
          ({ span: other, parent }) => parent === span && !other.byCause && other.row !== undefined,
        )
        let self = 0n
        for (let ns = span.startNs; ns < span.endNs; ns++) {
          if (!own.some(({ span: { startNs, endNs } }) => startNs <= ns && ns < endNs)) self++
        }
        expect(times.get(span)?.selfNs).toBe(self)
        expect(self).toBeLessThanOrEqual(durationNs(span))
        expect(times.get(span)?.waitNs).toBeGreaterThanOrEqual(0n)
      }
    }),
  )
})
