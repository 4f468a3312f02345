import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cascadeSketch, stepMs } from '../../support/deliveries/drawn-cascade.ts'
import { Judge } from '../../support/deliveries/judge.ts'

const MINUTE = 60_000
/** How many cascades are drawn, a minute's work on an idle machine, or for how long. */
const { CAUSEWAY_DRAWS = '7000', CAUSEWAY_MINUTES } = process.env
const lastsMs = Number(CAUSEWAY_MINUTES ?? 0) * MINUTE
const limits =
  CAUSEWAY_MINUTES === undefined
    ? { numRuns: Number(CAUSEWAY_DRAWS) }
    : { numRuns: 1_000_000, interruptAfterTimeLimit: lastsMs }

test(
  'no cascade is found of which backends hold something else than `wait` allows',
  async () => {
    using judge = new Judge()
    const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) =>
      judge.expectDelivered(sketch, step),
    )
    await fc.assert(holds, limits)
    expect.hasAssertions()
  },
  lastsMs + 10 * MINUTE,
)

test(
  'no cascade is found of which something was acknowledged and not shown',
  async () => {
    using judge = new Judge()
    const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.expectShown(sketch, step))
    await fc.assert(holds, limits)
    expect.hasAssertions()
  },
  lastsMs + 10 * MINUTE,
)
