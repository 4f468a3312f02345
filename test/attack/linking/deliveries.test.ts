import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cascadeSketch, stepMs } from '../../support/deliveries/drawn-cascade.ts'
import { Judge } from '../../support/deliveries/judge.ts'

const MINUTE = 60_000
/** About what a minute allows on an idle machine. */
const [DELIVERED, SHOWN] = [7_000, 3_000]
const { CAUSEWAY_MINUTES } = process.env
const lastsMs = Number(CAUSEWAY_MINUTES ?? 0) * MINUTE
/** So many cascades, or for as long as was asked for. */
const limitsOf = (numRuns: number): object =>
  CAUSEWAY_MINUTES === undefined ? { numRuns } : { numRuns: 1_000_000, interruptAfterTimeLimit: lastsMs }

test(
  'no cascade is found of which backends hold something else than `wait` allows',
  async () => {
    using judge = new Judge()
    const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) =>
      judge.expectDelivered(sketch, step),
    )
    await fc.assert(holds, limitsOf(DELIVERED))
    expect.hasAssertions()
  },
  lastsMs + 10 * MINUTE,
)

test(
  'no cascade is found of which something was acknowledged and not shown',
  async () => {
    using judge = new Judge()
    const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.expectShown(sketch, step))
    await fc.assert(holds, limitsOf(SHOWN))
    expect.hasAssertions()
  },
  lastsMs + 10 * MINUTE,
)
