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

test('the critical path leads to the span that ends last, with the waits on it', () => {
  expect(draw(CASCADE)).toEqual([
    'change after 0 held 0',
    'deployment after 5 held 5',
    'create after 0 held 8',
    'replicaset after 12 held 30',
  ])
})

test('the critical path leads to the span that ends last before a given time', () => {
  expect(draw(CASCADE, 55n)).toEqual(['change after 0 held 0', 'quota after 6 held 44'])
  expect(draw(CASCADE, 1n)).toEqual([])
})

const ROLLOUT = [
  linkedSpan(1, 0, { startNs: 0n, endNs: 2n, name: 'patch' }),
  seen(2, 1, 'deployment-controller', { startNs: 5n, endNs: 6n, name: 'create new' }),
  seen(3, 2, 'replicaset-controller', { startNs: 20n, endNs: 21n, name: 'new is ready' }),
  seen(4, 1, 'deployment-controller', { startNs: 19n, endNs: 22n, name: 'scale new' }),
  seen(5, 1, 'deployment-controller', { startNs: 30n, endNs: 32n, name: 'scale old' }),
  seen(6, 1, 'replicaset-controller', { startNs: 25n, endNs: 31n, name: 'not ended yet' }),
  seen(7, 1, 'replicaset-controller', { startNs: 26n, endNs: 27n, name: "another's", owner: 'other' }),
]

/** A write that was seen from outside, of an object that the Deployment owns. */
function seen(spanId: number, parentId: number, service: string, rest: Partial<LinkedSpan>): LinkedSpan {
  const said = { user: undefined, cause: 'inferred', gap: false } as const
  return linkedSpan(spanId, parentId, { service, byCause: true, owner: 'web', seen: said, ...rest })
}

test('a rollout that went on when Pods were ready waited for these, not for the patch', () => {
  expect(draw(ROLLOUT)).toEqual([
    'patch after 0 held 2',
    'create new after 3 held 1',
    'new is ready after 14 held 1',
    'scale old after 9 held 2',
  ])
})

test('a controller that reports what it observed has said what it waited for', () => {
  const told = ROLLOUT.map((span) => ({ ...span, seen: undefined }))
  expect(draw(told)).toEqual(['patch after 0 held 2', 'scale old after 28 held 2'])
})

test('of several spans that end at once, the critical path ends in the deepest', () => {
  const spans = [
    linkedSpan(1, 0, { endNs: 9n }),
    linkedSpan(2, 1, { endNs: 9n }),
    linkedSpan(3, 1, { endNs: 8n }),
  ]
  expect(draw(spans)).toEqual(['span 1 after 0 held 1', 'span 2 after 0 held 7'])
})

test('a critical path has 10,000 levels', () => {
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

test('whatever was seen of whom, each step follows from one above or from one that ended before it, and none comes twice', () => {
  const service = fc.constantFrom('deployment-controller', 'replicaset-controller')
  const whose = fc.tuple(service, fc.constantFrom('web', 'shop', ''))
  fc.assert(
    fc.property(anyTrace(), fc.array(whose, { minLength: 12, maxLength: 12 }), (drawn, of) => {
      const tree = spanTree(
        drawn.map((span, at) => {
          const [service, owner] = of[at]!
          return { ...seen(0, 0, service, {}), ...span, service, owner }
        }),
      )
      const parents = new Map(tree.map(({ span, parent }) => [span, parent]))
      const path = criticalPath(tree)
      expect(new Set(path).size).toBe(path.length)
      path.forEach((span, at) => {
        const before = path[at - 1]
        if (before !== parents.get(span)) {
          expect(before!.endNs).toBeLessThanOrEqual(span.startNs)
          expect(before!.owner).toBe(span.owner)
          expect(before!.service).not.toBe(span.service)
        }
      })
    }),
  )
})
