import { test, expect } from '@jest/globals'
import fc from 'fast-check'
import { FairQueue } from '../../src/app/fair-queue.ts'

const KIB = 1024

interface Item {
  flow: number
  bytes: { length: number }
  number: number
}

const items = fc
  .array(fc.record({ flow: fc.nat(4), length: fc.integer({ min: 0, max: 300 * KIB }) }), { maxLength: 80 })
  .map((all) => all.map(({ flow, length }, number): Item => ({ flow, bytes: { length }, number })))

test('gives back everything once, the items of a flow in the order in which they came', () => {
  fc.assert(
    fc.property(items, fc.integer({ min: 1, max: 600 * KIB }), (all, maxBytes) => {
      const queue = new FairQueue<Item>()
      for (const item of all) queue.add(item)
      const taken: Item[] = []
      while (queue.size > 0) {
        const batch = queue.take(maxBytes)
        expect(batch.length).toBeGreaterThan(0)
        const bytes = batch.reduce((sum, item) => sum + item.bytes.length, 0)
        expect(batch.length === 1 || bytes <= maxBytes).toBe(true)
        taken.push(...batch)
      }
      for (const flow of [0, 1, 2, 3, 4]) {
        const own = (item: Item) => item.flow === flow
        expect(taken.filter(own)).toEqual(all.filter(own))
      }
      expect(queue.take(maxBytes)).toEqual([])
    }),
  )
})

test('flows that wait all the time get the same number of bytes, whatever the size of their items', () => {
  const queue = new FairQueue<Item>()
  for (let number = 0; number < 1_000; number++) {
    queue.add({ flow: 1, bytes: { length: 200 * KIB }, number })
    for (let part = 0; part < 20; part++) queue.add({ flow: 2, bytes: { length: 10 * KIB }, number })
  }
  const bytes = [0, 0, 0]
  for (let batch = 0; batch < 100; batch++) {
    for (const item of queue.take(512 * KIB)) bytes[item.flow] = (bytes[item.flow] ?? 0) + item.bytes.length
  }
  expect(Math.abs((bytes[1] ?? 0) - (bytes[2] ?? 0))).toBeLessThan(400 * KIB)
})

test('a flow that had nothing waiting is next, however much of another waits', () => {
  const queue = new FairQueue<Item>()
  for (let number = 0; number < 100; number++) queue.add({ flow: 1, bytes: { length: 200 * KIB }, number })
  queue.take(512 * KIB)
  queue.add({ flow: 2, bytes: { length: 5 * KIB }, number: 0 })
  expect(queue.take(512 * KIB).map(({ flow }) => flow)).toContain(2)
})
