import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { drawnCascade } from '../support/deliveries/drawn-cascade.ts'
import { expectDelivered } from '../support/deliveries/judge.ts'
import { TestWriter } from '../support/test-writer.ts'

const RUNS = Number(process.env.CAUSEWAY_RUNS ?? 200)

test('however a cascade is sent, backends hold the same in the end, but for what `wait` allows', async () => {
  await fc.assert(
    fc.asyncProperty(drawnCascade, fc.constantFrom(1_000, 1_037, 2_500, 333), async (cascade, stepMs) => {
      using writer = await TestWriter.open()
      expectDelivered(writer, cascade, stepMs)
    }),
    { numRuns: RUNS },
  )
  expect.hasAssertions()
})
