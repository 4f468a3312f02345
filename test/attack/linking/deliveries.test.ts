import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cascadeSketch, stepMs } from '../../support/deliveries/drawn-cascade.ts'
import { Judge } from '../../support/deliveries/judge.ts'

const MINUTE = 60_000
/** Each takes a tenth of a second: all that Causeway shows is asked after each answer. */
const SHOWN = 900
const { CAUSEWAY_MINUTES } = process.env
const lastsMs = Number(CAUSEWAY_MINUTES ?? 0) * MINUTE
/** So many cascades, or for this part of the time that was asked for. */
const limitsOf = (numRuns: number, part = 1): object =>
  CAUSEWAY_MINUTES === undefined
    ? { numRuns }
    : { numRuns: 1_000_000, interruptAfterTimeLimit: lastsMs * part }

/** All together they take some three minutes on two idle cores. */
test.each([
  ['cascade', 3_000, 1 / 2],
  ['links', 1_500, 1 / 4],
  ['passthrough', 1_500, 1 / 4],
] as const)(
  '%s: no cascade is found of which backends hold other spans or log records than its order and `wait` allow',
  async (mode, numRuns, part) => {
    using judge = new Judge(mode)
    const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) =>
      judge.expectDelivered(sketch, step),
    )
    await fc.assert(holds, limitsOf(numRuns, part))
    expect.hasAssertions()
  },
  lastsMs + 10 * MINUTE,
)

test(
  'no cascade is found of which a span or log record was acknowledged and is not in the next answer',
  async () => {
    using judge = new Judge('cascade')
    const holds = fc.asyncProperty(cascadeSketch, stepMs, (sketch, step) => judge.expectShown(sketch, step))
    await fc.assert(holds, limitsOf(SHOWN))
    expect.hasAssertions()
  },
  lastsMs + 10 * MINUTE,
)
