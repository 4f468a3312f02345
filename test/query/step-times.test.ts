import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { criticalPath, dominantSpans, positionOfMost, stepTimes } from '../../src/query/cascade-analysis.ts'
import { spanTree } from '../../src/query/span-tree.ts'
import { anyTrace } from './any-trace.ts'
import { linkedSpan } from './linked-span.ts'

const step = (startNs: number, endNs: number) => ({ startNs: BigInt(startNs), endNs: BigInt(endNs) })
const divided = (...path: ReturnType<typeof step>[]): [wait: number, held: number][] =>
  stepTimes(path).map(({ waitNs, heldNs }) => [Number(waitNs), Number(heldNs)])

test('a step holds until the next one begins, and a gap before a step is a wait', () => {
  expect(divided(step(0, 0), step(5, 20), step(10, 18), step(30, 60))).toEqual([
    [0, 0],
    [5, 5],
    [0, 8],
    [12, 30],
  ])
  expect(divided()).toEqual([])
})

test('a clock that is behind takes nothing twice', () => {
  expect(divided(step(10, 40), step(5, 8), step(20, 50))).toEqual([
    [0, 0],
    [0, 0],
    [10, 30],
  ])
})

test('the most of several alike is the first; there is none where all is nothing', () => {
  expect(positionOfMost([1n, 3n, 3n], (ns) => ns)).toBe(1)
  expect(positionOfMost([0n, 0n], (ns) => ns)).toBeUndefined()
})

test('what took most inside a step is of its own work, by its own time, and in the time that it held up', () => {
  const spans = [
    linkedSpan(1, 0, { startNs: 0n, endNs: 100n, name: 'reconcile' }),
    linkedSpan(2, 1, { startNs: 10n, endNs: 70n, name: 'call' }),
    linkedSpan(3, 2, { startNs: 20n, endNs: 60n, name: 'pull' }),
    linkedSpan(4, 1, { startNs: 75n, endNs: 76n, name: 'write' }),
    linkedSpan(5, 4, { startNs: 80n, endNs: 200n, name: 'caused', byCause: true }),
    linkedSpan(6, 1, { startNs: 81n, endNs: 100n, name: 'after the next step began' }),
    linkedSpan(7, 1, { startNs: 0n, endNs: 90n, name: 'another that it caused', byCause: true }),
    linkedSpan(8, 5, { startNs: 90n, endNs: 120n, name: 'shorter than the step itself' }),
  ]
  const tree = spanTree(spans)
  const path = criticalPath(tree)
  const within = dominantSpans(tree, path, stepTimes(path))
  expect(within.map((found) => found && `${found.span.name} ${found.heldNs}`)).toEqual([
    'pull 40',
    undefined,
    undefined,
  ])
})

test('whatever the spans, the times on a path follow one another and add up to it', () => {
  fc.assert(
    fc.property(anyTrace(), (spans) => {
      const path = criticalPath(spanTree(spans))
      const held = stepTimes(path)
      let atNs = path[0]?.startNs ?? 0n
      held.forEach(({ waitNs, fromNs, heldNs }, position) => {
        const { startNs, endNs } = path[position]!
        expect(waitNs).toBeGreaterThanOrEqual(0n)
        expect(heldNs).toBeGreaterThanOrEqual(0n)
        expect(fromNs).toBe(atNs + waitNs)
        atNs = fromNs + heldNs
        if (heldNs === 0n) return
        expect(fromNs).toBeGreaterThanOrEqual(startNs)
        expect(atNs).toBeLessThanOrEqual(endNs)
        const next = path[position + 1]
        if (next !== undefined) expect(atNs).toBeLessThanOrEqual(next.startNs)
      })
      const pathNs = (path.at(-1)?.endNs ?? 0n) - (path[0]?.startNs ?? 0n)
      const sum = held.reduce((ns, { waitNs, heldNs }) => ns + waitNs + heldNs, 0n)
      expect(sum).toBe(pathNs > 0n ? pathNs : 0n)
    }),
  )
})

test('whatever the spans, what took most inside a step is no more than the step held up, and no other step', () => {
  fc.assert(
    fc.property(anyTrace(), (spans) => {
      const tree = spanTree(spans)
      const path = criticalPath(tree)
      const held = stepTimes(path)
      const within = dominantSpans(tree, path, held)
      expect(within).toHaveLength(path.length)
      within.forEach((found, position) => {
        if (found === undefined) return
        expect(found.heldNs).toBeGreaterThan(0n)
        expect(found.heldNs).toBeLessThanOrEqual(held[position]!.heldNs)
        expect(path).not.toContain(found.span)
        expect(found.span.byCause).toBe(false)
        expect(found.span.row).toBeDefined()
      })
    }),
  )
})
