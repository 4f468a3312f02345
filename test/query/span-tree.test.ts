import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import type { LinkedSpan } from '../../src/model/queries.ts'
import { spanTree } from '../../src/query/span-tree.ts'
import { linkedSpan } from './linked-span.ts'

function draw(spans: readonly LinkedSpan[]): string[] {
  return spanTree(spans).map(
    ({ span, depth, parentMissing }) =>
      `${'  '.repeat(depth)}${span.name}${parentMissing ? ' (parent missing)' : ''}`,
  )
}

test('children stand below their parents, by start', () => {
  const spans = [
    linkedSpan(4, 2),
    linkedSpan(3, 1, { startNs: 9n }),
    linkedSpan(2, 1, { startNs: 8n }),
    linkedSpan(5, 2, { startNs: 1n }),
    linkedSpan(1, 0),
  ]
  expect(draw(spans)).toEqual(['span 1', '  span 2', '    span 5', '    span 4', '  span 3'])
})

test('spans that start together keep the order in which they were sent', () => {
  const spans = [linkedSpan(1, 0), ...[4, 2, 3].map((id) => linkedSpan(id, 1, { startNs: 7n }))]
  expect(draw(spans)).toEqual(['span 1', '  span 4', '  span 2', '  span 3'])
})

test('a span whose parent is not there stands at the top, after the root', () => {
  const spans = [linkedSpan(2, 99), linkedSpan(3, 2), linkedSpan(5, 0)]
  expect(draw(spans)).toEqual(['span 5', 'span 2 (parent missing)', '  span 3'])
})

test('a loop is cut where it starts first', () => {
  expect(draw([linkedSpan(3, 2), linkedSpan(2, 3), linkedSpan(4, 3), linkedSpan(1, 0)])).toEqual([
    'span 1',
    'span 2 (parent missing)',
    '  span 3',
    '    span 4',
  ])
  expect(draw([linkedSpan(1, 1)])).toEqual(['span 1 (parent missing)'])
})

test('of two spans with one id the first has the children', () => {
  const spans = [
    linkedSpan(1, 0),
    linkedSpan(2, 1, { name: 'a' }),
    linkedSpan(2, 1, { name: 'b' }),
    linkedSpan(3, 2),
  ]
  expect(draw(spans)).toEqual(['span 1', '  a', '    span 3', '  b'])
})

test('a critical path has 10,000 levels', () => {
  const spans = Array.from({ length: 10_000 }, (_, at) => linkedSpan(at + 1, at))
  expect(spanTree(spans).at(-1)).toMatchObject({ depth: 9_999 })
})

test('whatever the parents, every span comes once, and below its parent unless that is missing', () => {
  const ids = fc.integer({ min: 0, max: 12 })
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), ids, ids)), (drawn) => {
      const spans = drawn.map(([id, parent, start]) => linkedSpan(id, parent, { startNs: BigInt(start) }))
      const tree = spanTree(spans)
      expect(new Set(tree.map(({ span }) => span))).toEqual(new Set(spans))
      expect(tree).toHaveLength(spans.length)
      const path: bigint[] = []
      for (const { span, depth, parentMissing } of tree) {
        if (depth === 0) expect(parentMissing).toBe(span.parentId !== 0n)
        else expect(path[depth - 1]).toBe(span.parentId)
        path[depth] = span.spanId
        path.length = depth + 1
      }
    }),
  )
})
