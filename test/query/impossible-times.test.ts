import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { rfc3339 } from '../../src/model/time-and-size.ts'
import type { Cascade } from '../../src/query/answer-schemas.ts'
import { cpid, nanosAfter, START_NS } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { spanRows } from '../../web/src/cascade/span-rows.ts'
import { ask, id } from './asking.ts'

const DAY = 86_400_000
/** Milliseconds after START_NS of the first moment of Unix time. */
const EPOCH = -Number(START_NS / 1_000_000n)
const YEARS = 12 * 365 * DAY

const time = fc.oneof(fc.integer({ min: 0, max: 900 }), fc.constantFrom(EPOCH, YEARS, 10 * YEARS))
const span = fc.record({ start: time, end: time, parent: fc.integer({ min: 0, max: 7 }) })

test('times that cannot be are in the time of the cascade wherever it says how long something took', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(span, { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      async (drawn, isDoubtedLater) => {
        using writer = await TestWriter.open()
        writer.clock.advance(1_000)
        writer.mergelogs('kubectl', [{ new: cpid(1) }])
        const good = { trace: 9, id: 9, cpid: cpid(1), start: 0, end: 900 }
        const others = drawn.map(({ start, end, parent }, at) => ({
          ...{ trace: 1, id: at + 1, cpid: cpid(1), start, end },
          ...(parent <= at && parent > 0 && { parent }),
          attributes: {
            [start % 2 === 0 ? 'cpid.wrote' : 'cpid.observed']: [`v1/pods/shop/web?rv=${(at % 3) + 1}`],
          },
        }))
        writer.spans('controller', [good, ...others])
        writer.pass(10_001)
        // An episode of its own, from a sender whose clock is two years behind.
        const behind = { trace: 2, id: 99, cpid: cpid(1), start: -730 * DAY, end: -730 * DAY + 10 }
        if (isDoubtedLater) writer.spans('behind', [behind])
        writer.pass(10_001)
        const cascade = ask<Cascade>(writer, { kind: 'cascade', root: id(1) })
        const { durationMs, criticalPath, timePerService, timePerKind } = cascade
        expect(criticalPath.durationMs).toBeLessThanOrEqual(durationMs)
        for (const { offsetMs } of criticalPath.steps) {
          expect(offsetMs).toBeGreaterThanOrEqual(0)
          expect(offsetMs).toBeLessThanOrEqual(durationMs)
        }
        for (const { totalMs, selfMs, waitMs, spans } of [...timePerService, ...timePerKind])
          for (const ms of [totalMs, selfMs, waitMs]) expect(ms).toBeLessThanOrEqual(spans * durationMs)
        for (const { offsetMs, durationMs: lengthMs } of spanRows(cascade).spans) {
          expect(offsetMs).toBeGreaterThanOrEqual(0)
          expect(offsetMs + lengthMs).toBeGreaterThanOrEqual(0)
          expect(Math.max(offsetMs, offsetMs + lengthMs)).toBeLessThanOrEqual(durationMs + 0.001)
        }
        const starts = new Map(cascade.traces[0]?.spans.map(({ spanId, start }) => [spanId, start]))
        expect(starts.get('0000000000000001')).toBe(rfc3339(BigInt(nanosAfter(drawn[0]?.start ?? 0))))
      },
    ),
    { numRuns: 150 },
  )
})
