import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { FairQueue } from '../../src/platform/fair-queue.ts'

interface Item {
  path: [peer: number, flow: number]
  costMs: number
  number: number
}

const LEVELS = 2

const items = fc
  .array(fc.record({ peer: fc.nat(2), flow: fc.nat(3), costMs: fc.integer({ min: 0, max: 20 }) }), {
    maxLength: 80,
  })
  .map((all) => all.map(({ peer, flow, costMs }, number): Item => ({ path: [peer, flow], costMs, number })))

const alone = (peer: number, costMs: number, number = 0): Item => ({ path: [peer, peer], costMs, number })

test('gives back everything once, the items of a flow in the order in which they came', () => {
  const settings = [items, fc.integer({ min: 1, max: 40 }), fc.array(fc.nat(3))] as const
  fc.assert(
    fc.property(...settings, (all, maxMs, notStored) => {
      const queue = new FairQueue<Item>(LEVELS)
      for (const item of all) queue.add(item)
      const taken: Item[] = []
      while (queue.size > 0) {
        const batch = queue.take(maxMs)
        expect(batch.length).toBeGreaterThan(0)
        const costMs = batch.reduce((sum, item) => sum + item.costMs, 0)
        expect(batch.length === 1 || costMs <= maxMs).toBe(true)
        const stored = batch.length - Math.min(batch.length, notStored.pop() ?? 0)
        taken.push(...batch.slice(0, stored))
        queue.putBack(batch.slice(stored))
        expect(queue.size).toBe(all.length - taken.length)
      }
      const byFlow = (list: Item[]) => Object.groupBy(list, ({ path }) => path.join())
      expect(byFlow(taken)).toEqual(byFlow(all))
      expect(queue.take(maxMs)).toEqual([])
    }),
  )
})

test('peers that wait all the time get the same time, whatever an item of them takes', () => {
  const queue = new FairQueue<Item>(LEVELS)
  for (let number = 0; number < 1_000; number++) {
    queue.add(alone(1, 10, number))
    for (let part = 0; part < 20; part++) queue.add(alone(2, 0.5, number))
  }
  const ms = [0, 0, 0]
  for (let batch = 0; batch < 100; batch++) {
    for (const { path, costMs } of queue.take(20)) ms[path[0]] = (ms[path[0]] ?? 0) + costMs
  }
  expect(Math.abs((ms[1] ?? 0) - (ms[2] ?? 0))).toBeLessThan(20)
})

test('one whose items take longer than was thought gets fewer of them stored', () => {
  const queue = new FairQueue<Item>(LEVELS)
  for (let number = 0; number < 1_000; number++) for (const peer of [1, 2]) queue.add(alone(peer, 1, number))
  const stored = [0, 0, 0]
  for (let batch = 0; batch < 100; batch++) {
    for (const item of queue.take(1)) {
      const [peer] = item.path
      stored[peer] = (stored[peer] ?? 0) + 1
      if (peer === 1) queue.correct(item, 9)
    }
  }
  expect(stored[2]).toBeGreaterThan(7 * (stored[1] ?? 0))
})

test('whoever comes anew waits a round at most, however much of others waits, and however many flows they make up', () => {
  const queue = new FairQueue<Item>(LEVELS)
  let made = 0
  const makeUp = (): void => queue.add({ path: [1, 100 + made++], costMs: 3, number: 0 })
  for (let number = 0; number < 100; number++) {
    makeUp()
    queue.add(alone(2, 10, number))
  }
  queue.take(20)
  queue.add(alone(3, 0.2))
  const peers: number[] = []
  while (!peers.includes(3)) {
    makeUp()
    peers.push(...queue.take(1).map(({ path }) => path[0]))
  }
  expect(peers.length).toBeLessThan(8)
})

test.each([10, 50, 500])(
  'a little of somebody new comes next beside %i peers that always have much',
  (peers) => {
    const queue = new FairQueue<Item>(LEVELS)
    const served: number[] = []
    for (let peer = 1; peer <= peers; peer++) for (let at = 0; at < 4; at++) queue.add(alone(peer, 2))
    const serve = (): void => {
      const [{ path } = { path: [0, 0] as [number, number] }] = queue.take(1)
      served.push(path[0])
      queue.add(alone(path[0], 2))
    }
    for (let turn = 0; turn < 3 * peers + 7; turn++) serve()
    queue.add(alone(9_999, 0.1))
    served.length = 0
    while (!served.includes(9_999)) serve()
    expect(served.length).toBeLessThanOrEqual(1 + Math.ceil(peers / 10))
  },
)

test('who comes again and again under new names keeps nobody waiting for ever', () => {
  const queue = new FairQueue<Item>(LEVELS)
  queue.add(alone(1, 5))
  let others = 0
  for (let name = 100; queue.size > 0; name++) {
    queue.add(alone(name, 0.1))
    const [{ path } = { path: [0, 0] as [number, number] }] = queue.take(0.01)
    if (path[0] === 1) break
    others++
  }
  expect(others).toBeLessThanOrEqual(101)
})

test('the flows of a peer take turns too', () => {
  const queue = new FairQueue<Item>(LEVELS)
  for (let number = 0; number < 100; number++) queue.add({ path: [1, 1], costMs: 1, number })
  queue.add({ path: [1, 2], costMs: 1, number: 0 })
  expect(queue.take(6).map(({ path }) => path[1])).toContain(2)
})

/** Serves peers that always have something waiting, whose items take other than was thought; what each took. */
function serveMisjudged(queue: FairQueue<Item>, tookMs: readonly number[], turns: number): number[] {
  const ms = tookMs.map(() => 0)
  for (let turn = 0; turn < turns; turn++) {
    const [item] = queue.take(0.01)
    if (item === undefined) break
    const [peer] = item.path
    const took = tookMs[peer] ?? 0
    ms[peer] = (ms[peer] ?? 0) + took
    queue.correct(item, took - item.costMs)
    queue.add(alone(peer, item.costMs))
  }
  return ms
}

test('who takes less than was thought is charged for no more than that', () => {
  const queue = new FairQueue<Item>(LEVELS)
  for (const peer of [1, 2]) queue.add(alone(peer, 10))
  const [, much = 0, little = 0] = serveMisjudged(queue, [0, 10, 1], 1_100)
  expect(little / much).toBeCloseTo(1, 1)
})

test.each([
  ['less', 10, 1],
  ['more', 1, 20],
])('beside those who take %s than was thought somebody new gets a share like theirs', (_, costMs, tookMs) => {
  const queue = new FairQueue<Item>(LEVELS)
  for (let at = 0; at < 4; at++) for (const peer of [1, 2]) queue.add(alone(peer, costMs))
  serveMisjudged(queue, [0, tookMs, tookMs], 500)
  for (let at = 0; at < 4; at++) queue.add(alone(3, costMs))
  const [, first = 0, second = 0, newcomer = 0] = serveMisjudged(queue, [0, tookMs, tookMs, tookMs], 60)
  expect(Math.max(first, second, newcomer)).toBeLessThanOrEqual(24 * tookMs)
  expect(Math.min(first, second, newcomer)).toBeGreaterThanOrEqual(16 * tookMs)
})
