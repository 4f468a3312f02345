import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cascadeSketch, stepMs } from '../support/deliveries/drawn-cascade.ts'
import { Judge } from '../support/deliveries/judge.ts'

/** More of them are tried in test/attack/linking. */
const SHOWN = 40

test.each([
  ['cascade', 80],
  ['links', 40],
  ['passthrough', 40],
] as const)(
  '%s: in whatever order and requests a cascade comes, with parts late, missing or sent again, each span ends under the same parent in the same traces, and each log record once beside its span, but for what `wait` allows',
  async (mode, numRuns) => {
    using judge = new Judge(mode)
    const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) =>
      judge.expectDelivered(sketch, step),
    )
    await fc.assert(holds, { numRuns })
    expect.hasAssertions()
  },
)

test('in whatever order and requests a cascade comes, each span and log record that was acknowledged is in the next answer about its CPID', async () => {
  using judge = new Judge('cascade')
  const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.expectShown(sketch, step))
  await fc.assert(holds, { numRuns: SHOWN })
  expect.hasAssertions()
})
