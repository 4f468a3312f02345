import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cascadeSketch, stepMs } from '../../support/deliveries/drawn-cascade.ts'
import { Judge } from '../../support/deliveries/judge.ts'

const MINUTE = 60_000
const limits = { numRuns: 20_000, interruptAfterTimeLimit: MINUTE }

test(
  'in a minute no cascade is found of which backends hold something else than `wait` allows',
  async () => {
    using judge = new Judge()
    const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) =>
      judge.expectDelivered(sketch, step),
    )
    await fc.assert(holds, limits)
    expect.hasAssertions()
  },
  10 * MINUTE,
)

test(
  'in a minute no cascade is found of which something was acknowledged and not shown',
  async () => {
    using judge = new Judge()
    const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.expectShown(sketch, step))
    await fc.assert(holds, limits)
    expect.hasAssertions()
  },
  10 * MINUTE,
)
