import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { readTraceQl } from '../../src/query/traceql/parse-traceql.ts'
import type { SentTraceRange } from '../../src/model/queries.ts'
import { cpid, START_NS } from '../support/otlp-requests.ts'
import { TestWriter } from '../support/test-writer.ts'
import { ask } from './asking.ts'

const MINUTE_MS = 60_000
const LONG_AGO_MS = -40 * 24 * 60 * MINUTE_MS

const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('span' as const),
        of: fc.option(fc.integer({ min: 1, max: 5 }), { freq: 4 }),
        trace: fc.integer({ min: 1, max: 3 }),
        readsVersion: fc.nat(4),
        lateMs: fc.constantFrom(0, 0, 0, MINUTE_MS, 30 * MINUTE_MS, LONG_AGO_MS),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('mergelog' as const),
        of: fc.integer({ min: 1, max: 5 }),
        sources: fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('pass' as const),
        ms: fc.constantFrom(5_000, 11_000, 2 * MINUTE_MS, 6 * MINUTE_MS),
      }),
    },
  ),
  { minLength: 5, maxLength: 30 },
)

/** What came when, and up to which time. */
function play(writer: TestWriter, drawn: typeof steps extends fc.Arbitrary<infer T> ? T : never): number {
  let nowMs = 0
  for (const [at, step] of drawn.entries()) {
    switch (step.kind) {
      case 'pass':
        writer.pass(step.ms)
        nowMs += step.ms
        break
      case 'mergelog':
        writer.mergelogs('merger', [
          { new: cpid(step.of), sources: step.sources.filter((one) => one < step.of).map(cpid), time: nowMs },
        ])
        break
      case 'span': {
        const start = nowMs + at - step.lateMs
        const pods = (version: number): string[] => [`v1/pods/default/web?rv=${version}`]
        writer.spans('controller', [
          {
            ...{ trace: step.trace, id: at + 1, start, end: start + 700 },
            ...(step.of !== null && { cpid: cpid(step.of) }),
            attributes: { 'cpid.observed': pods(step.readsVersion), 'cpid.wrote': pods(at + 1) },
          },
        ])
      }
    }
  }
  for (const ms of [11_000, 6 * MINUTE_MS]) writer.pass(ms)
  return nowMs
}

function found(writer: TestWriter, range: SentTraceRange): string[] {
  const { traces } = ask<{ traces: { traceID: string }[] }>(writer, {
    kind: 'searchTraces',
    shape: 'tempo',
    search: { pipeline: readTraceQl('{}').pipeline, ...range, limit: 1_000, spansPerTrace: 1 },
  })
  return traces.map(({ traceID }) => traceID.padStart(32, '0')).sort()
}

test('a search by time finds every trace with spans before its end and after its beginning, copies too', async () => {
  await fc.assert(
    fc.asyncProperty(
      steps,
      fc.array(fc.tuple(fc.nat(100), fc.nat(30)), { minLength: 5, maxLength: 5 }),
      async (drawn, ranges) => {
        using writer = await TestWriter.open()
        const lastMs = play(writer, drawn)
        const sent = writer.sent()
        const times = new Map<string, { fromNs: bigint; toNs: bigint }>()
        for (const { traceId, startNs, endNs } of sent) {
          const { fromNs = startNs, toNs = endNs } = times.get(traceId) ?? {}
          times.set(traceId, {
            fromNs: startNs < fromNs ? startNs : fromNs,
            toNs: endNs > toNs ? endNs : toNs,
          })
        }
        for (const [begin, length] of ranges) {
          const at = (percent: number): bigint =>
            START_NS + BigInt(Math.round((percent * (lastMs + MINUTE_MS)) / 100)) * 1_000_000n
          const range = { fromNs: at(begin), toNs: at(begin + length) }
          const expected = [...times].filter(
            ([, { fromNs, toNs }]) => toNs >= range.fromNs && fromNs <= range.toNs,
          )
          expect(found(writer, range)).toEqual(expected.map(([traceId]) => traceId).sort())
        }
      },
    ),
    { numRuns: 150 },
  )
})
