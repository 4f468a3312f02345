import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cascadeSketch, stepMs } from '../../support/deliveries/drawn-cascade.ts'
import { Judge } from '../../support/deliveries/judge.ts'

const MINUTE = 60_000
const { CAUSEWAY_MINUTES = '1', CAUSEWAY_SEED } = process.env
const lastsMs = Number(CAUSEWAY_MINUTES) * MINUTE
/** Other cascades each time, unless a seed says which. */
const limits = {
  numRuns: 1_000_000,
  interruptAfterTimeLimit: lastsMs,
  ...(CAUSEWAY_SEED !== undefined && { seed: Number(CAUSEWAY_SEED) }),
}

test(
  'for a minute no cascade is found of which backends hold something else than `wait` allows',
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
  'for a minute no cascade is found of which something was acknowledged and not shown',
  async () => {
    using judge = new Judge()
    const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.expectShown(sketch, step))
    await fc.assert(holds, limits)
    expect.hasAssertions()
  },
  lastsMs + 10 * MINUTE,
)
