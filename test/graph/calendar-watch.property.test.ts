import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { CalendarWatch, DRIFT, LEAP_MS, UNSURE_MS } from '../../src/graph/prune.ts'

const MINUTE = 60_000
const RUNS = process.env.CAUSEWAY_ATTACK === '1' ? 20_000 : 500

/** Time that goes by, and how much more of it the calendar counts. */
interface Step {
  readonly upMs: number
  readonly leapMs: number
}

const upMs = fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 90 * MINUTE }))
const leapMs = fc.oneof(
  fc.constant(0),
  fc.integer({ min: -9 * MINUTE, max: 9 * MINUTE }),
  fc.integer({ min: 8 * MINUTE, max: 9 * MINUTE }),
  fc.integer({ min: -200 * MINUTE, max: 200 * MINUTE }),
)
const steps = fc.array(fc.record<Step>({ upMs, leapMs }), { minLength: 1, maxLength: 60 })

interface Seen {
  readonly activeMs: number
  readonly aheadMs: number
  readonly isSure: boolean
  readonly leapMs: number | undefined
}

function watched(all: readonly Step[]): Seen[] {
  const watch = new CalendarWatch()
  let [activeMs, aheadMs] = [0, 1e12]
  return [{ upMs: 0, leapMs: 0 }, ...all].map((step) => {
    activeMs += step.upMs
    aheadMs += step.leapMs
    return {
      activeMs,
      aheadMs,
      leapMs: undefined,
      ...watch.look({ wallMs: activeMs + aheadMs, activeMs }, undefined),
    }
  })
}

test('a calendar is believed only while all its leaps together stay within bounds for an hour', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const seen = watched(all)
      for (const now of seen.filter(({ isSure }) => isSure))
        for (const before of seen.filter(
          ({ activeMs }) => activeMs <= now.activeMs && now.activeMs - activeMs < UNSURE_MS,
        )) {
          // Of looks at the same moment the later one may have leapt.
          if (seen.indexOf(before) > seen.indexOf(now)) continue
          const driftMs = (now.activeMs - before.activeMs) * DRIFT
          expect(Math.abs(now.aheadMs - before.aheadMs)).toBeLessThanOrEqual(LEAP_MS + driftMs + 1)
        }
    }),
    { numRuns: RUNS },
  )
})

test('a calendar whose leaps stay within bounds is always believed', () => {
  const within = fc.array(fc.record({ upMs, toMs: fc.integer({ min: 0, max: LEAP_MS }) }), {
    minLength: 1,
    maxLength: 60,
  })
  fc.assert(
    fc.property(within, (all) => {
      let at = 0
      const leaps = all.map(({ upMs: up, toMs }) => {
        const leap = toMs - at
        at = toMs
        return { upMs: up, leapMs: leap }
      })
      // The first look is at 0 as well.
      expect(watched(leaps).every(({ isSure }) => isSure)).toBe(true)
    }),
    { numRuns: RUNS },
  )
})

test('a clock that drifts, or is slewed, by less than a hundredth for as long as it likes, leaps never', () => {
  fc.assert(
    fc.property(
      fc.array(upMs, { maxLength: 200 }),
      fc.double({ min: -0.99, max: 0.99, noNaN: true }),
      (ups, rate) => {
        const drifting = ups.map((up) => ({ upMs: up, leapMs: up * DRIFT * rate }))
        expect(watched(drifting).every(({ isSure }) => isSure)).toBe(true)
      },
    ),
    { numRuns: RUNS },
  )
})

test('a leap is told of with its length, and believed once it has lasted for an hour', () => {
  const [, leapt, later, last] = watched([
    { upMs: 1_000, leapMs: 11 * MINUTE },
    { upMs: 59 * MINUTE, leapMs: 0 },
    { upMs: MINUTE, leapMs: 0 },
  ])
  expect(leapt).toMatchObject({ isSure: false, leapMs: 11 * MINUTE })
  expect(later).toMatchObject({ isSure: false, leapMs: undefined })
  expect(last).toMatchObject({ isSure: true, leapMs: undefined })
})
