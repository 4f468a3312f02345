import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { skipPoisonedItems } from '../../src/store/skip-poisoned-items.ts'

const POISON = new Error('this item')
const DISK_FULL = new Error('disk full')

interface Worked {
  readonly done: number
  readonly committed: readonly number[]
  readonly passed: readonly number[]
  readonly transactions: number
}

/** Works on numbers, of which some cannot be worked on; after `budget` transactions nothing can. */
function workOn(count: number, poisoned: ReadonlySet<number>, until = count, budget = Infinity): Worked {
  const committed: number[] = []
  const passed: number[] = []
  let transactions = 0
  const done = skipPoisonedItems(count, {
    work: (from, most) => {
      if (++transactions > budget) throw DISK_FULL
      const items = Array.from({ length: Math.min(most, until - from) }, (_, at) => from + at)
      if (items.some((item) => poisoned.has(item))) throw POISON
      committed.push(...items)
      return items.length
    },
    skip: (item, error) => {
      expect(error).toBe(POISON)
      passed.push(item)
    },
    isAboutOneItem: (error) => error === POISON,
  })
  return { done, committed, passed, transactions }
}

const items = fc.integer({ min: 0, max: 300 }).chain((count) =>
  fc.record({
    count: fc.constant(count),
    poisoned: fc.uniqueArray(fc.nat({ max: Math.max(0, count - 1) })).map((all) => new Set(all)),
  }),
)

test('every item is worked on once and in order, except those that throw, which are passed', () => {
  fc.assert(
    fc.property(items, ({ count, poisoned }) => {
      const all = Array.from({ length: count }, (_, item) => item)
      const { done, committed, passed, transactions } = workOn(count, poisoned)
      expect(committed).toEqual(all.filter((item) => !poisoned.has(item)))
      expect(passed).toEqual(all.filter((item) => poisoned.has(item)))
      expect(done).toBe(count)
      expect(transactions).toBeLessThanOrEqual(2 * count + Math.log2(count + 2) + 1)
    }),
  )
})

test('work that ends early ends there, and what comes after is not touched', () => {
  fc.assert(
    fc.property(items, fc.nat({ max: 300 }), ({ count, poisoned }, until) => {
      const end = Math.min(count, until)
      const { done, committed, passed } = workOn(count, poisoned, end)
      expect(done).toBe(end)
      expect([...committed, ...passed].sort((one, other) => one - other)).toEqual(
        Array.from({ length: end }, (_, item) => item),
      )
    }),
  )
})

test('what is not about one item is thrown on, and nothing is passed for it', () => {
  fc.assert(
    fc.property(items, fc.nat({ max: 10 }), ({ count, poisoned }, budget) => {
      const { transactions } = workOn(count, poisoned)
      if (transactions <= budget) return
      expect(() => workOn(count, poisoned, count, budget)).toThrow(DISK_FULL)
    }),
  )
})

test('nothing to do is still one transaction', () => {
  expect(workOn(0, new Set()).transactions).toBe(1)
})
