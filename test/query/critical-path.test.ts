import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { LinkedSpan } from '../../src/model/queries.ts'
import { criticalPath, stepTimes } from '../../src/query/cascade-analysis.ts'
import { spanTree } from '../../src/query/span-tree.ts'
import { anyTrace } from './any-trace.ts'
import { linkedSpan } from './linked-span.ts'

function draw(spans: readonly LinkedSpan[], byNs?: bigint): string[] {
  const path = criticalPath(spanTree(spans), byNs)
  const held = stepTimes(path)
  return path.map(({ name }, at) => `${name} after ${held[at]!.waitNs} held ${held[at]!.heldNs}`)
}

const CASCADE = [
  linkedSpan(1, 0, { row: undefined, startNs: 0n, endNs: 0n, name: 'change' }),
  linkedSpan(2, 1, { startNs: 5n, endNs: 20n, name: 'deployment' }),
  linkedSpan(3, 2, { startNs: 10n, endNs: 18n, name: 'create' }),
  linkedSpan(4, 3, { startNs: 30n, endNs: 60n, name: 'replicaset', byCause: true }),
  linkedSpan(5, 1, { startNs: 6n, endNs: 50n, name: 'quota' }),
]

test('the way to what ends last, with the waiting on it', () => {
  expect(draw(CASCADE)).toEqual([
    'change after 0 held 0',
    'deployment after 5 held 5',
    'create after 0 held 8',
    'replicaset after 12 held 30',
  ])
})

test('the way to what ends last by a time', () => {
  expect(draw(CASCADE, 55n)).toEqual(['change after 0 held 0', 'quota after 6 held 44'])
  expect(draw(CASCADE, 1n)).toEqual([])
})

test('of several that end at once, the deepest', () => {
  const spans = [
    linkedSpan(1, 0, { endNs: 9n }),
    linkedSpan(2, 1, { endNs: 9n }),
    linkedSpan(3, 1, { endNs: 8n }),
  ]
  expect(draw(spans)).toEqual(['span 1 after 0 held 1', 'span 2 after 0 held 7'])
})

test('10,000 levels', () => {
  const spans = Array.from({ length: 10_000 }, (_, at) => linkedSpan(at + 1, at))
  expect(criticalPath(spanTree(spans))).toHaveLength(10_000)
})

test('whatever the spans, it leads from a top through parents to a received span that ends last', () => {
  fc.assert(
    fc.property(anyTrace(), (spans) => {
      const tree = spanTree(spans)
      const parents = new Map(tree.map(({ span, parent }) => [span, parent]))
      const path = criticalPath(tree)
      const received = spans.filter(({ row }) => row !== undefined)
      expect(path.length === 0).toBe(received.length === 0)
      path.forEach((span, at) => expect(parents.get(span)).toBe(at === 0 ? undefined : path[at - 1]))
      for (const { endNs } of received) expect(path.at(-1)!.endNs).toBeGreaterThanOrEqual(endNs)
    }),
  )
})
