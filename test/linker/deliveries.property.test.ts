import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cascadeSketch, stepMs } from '../support/deliveries/drawn-cascade.ts'
import { Judge } from '../support/deliveries/judge.ts'

/** More of them are tried in test/attack/linking. */
const [DELIVERED, SHOWN] = [100, 40]

test('however a cascade is sent, backends hold the same in the end, but for what `wait` allows', async () => {
  using judge = new Judge()
  const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.expectDelivered(sketch, step))
  await fc.assert(holds, { numRuns: DELIVERED })
  expect.hasAssertions()
})

test('however a cascade is sent, what was acknowledged is in the next answer', async () => {
  using judge = new Judge()
  const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.expectShown(sketch, step))
  await fc.assert(holds, { numRuns: SHOWN })
  expect.hasAssertions()
})
