import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cascadeSketch } from '../support/deliveries/drawn-cascade.ts'
import { Judge } from '../support/deliveries/judge.ts'

const RUNS = Number(process.env.CAUSEWAY_RUNS ?? 300)

test('however a cascade is sent, backends hold the same in the end, but for what `wait` allows', async () => {
  using judge = new Judge()
  const stepMs = fc.constantFrom(1_000, 1_037, 2_500, 333)
  await fc.assert(
    fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.judge(sketch, step)),
    { numRuns: RUNS },
  )
  expect.hasAssertions()
})
