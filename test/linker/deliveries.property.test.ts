import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cascadeSketch } from '../support/deliveries/drawn-cascade.ts'
import { Judge } from '../support/deliveries/judge.ts'

const stepMs = fc.constantFrom(1_000, 1_037, 2_500, 333)
const numRuns = Number(process.env.CAUSEWAY_RUNS ?? 150)

test('however a cascade is sent, backends hold the same in the end, but for what `wait` allows', async () => {
  using judge = new Judge()
  const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.expectDelivered(sketch, step))
  await fc.assert(holds, { numRuns })
  expect.hasAssertions()
})

test('however a cascade is sent, what was acknowledged is in the next answer', async () => {
  using judge = new Judge()
  const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.expectShown(sketch, step))
  await fc.assert(holds, { numRuns: Math.ceil(numRuns / 3) })
  expect.hasAssertions()
})
