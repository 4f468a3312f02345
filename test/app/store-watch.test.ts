import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { StoreWatch } from '../../src/app/start-store.ts'
import { TestClock } from '../support/test-clock.ts'
import { TestTimers } from '../support/test-timers.ts'

const LONGEST_S = 20

/** Seconds that pass, and whether the thread says something after them. */
const step = fc.record({ seconds: fc.integer({ min: 0, max: 30 }), speaks: fc.boolean() })

test('a store thread that says nothing for twenty seconds hangs, until it says something', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const clock = new TestClock()
      const timers = new TestTimers(clock)
      const told: string[] = []
      using watch = new StoreWatch(timers, (fault) => void told.push(fault?.kind ?? 'over'))
      const expected: string[] = []
      let silentS = 0
      for (const { seconds, speaks } of steps) {
        timers.pass(seconds * 1_000)
        if (silentS < LONGEST_S && silentS + seconds >= LONGEST_S) expected.push('hangs')
        silentS += seconds
        if (!speaks) continue
        watch.heard()
        if (silentS >= LONGEST_S) expected.push('over')
        silentS = 0
      }
      expect(told).toEqual(expected)
    }),
  )
})

test('it looks no more once it is disposed of', () => {
  const timers = new TestTimers(new TestClock())
  new StoreWatch(timers, () => undefined)[Symbol.dispose]()
  expect(timers.size).toBe(0)
})
