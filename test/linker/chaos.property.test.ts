import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { cpid, hexSpan, hexTrace, type SpanSketch } from '../support/otlp-requests.ts'
import { sentSpans } from '../support/sent-spans.ts'
import { expectSoundTraces } from '../support/sound-traces.ts'
import { TestWriter } from '../support/test-writer.ts'

type Step =
  | { kind: 'span'; span: SpanSketch }
  | { kind: 'mergelog'; at: number; sources: number[] }
  | { kind: 'pass'; ms: number }

const CPIDS = 6
/** Spans name parents among these; some never arrive. */
const SPAN_IDS = 6

const podAt = (version: number): string => `v1/pods/default/web?rv=${version}`

const aSpan: fc.Arbitrary<Step> = fc
  .record({
    trace: fc.integer({ min: 1, max: 2 }),
    id: fc.integer({ min: 1, max: SPAN_IDS }),
    parent: fc.option(fc.integer({ min: 1, max: SPAN_IDS }), { nil: undefined }),
    carried: fc.option(fc.nat(CPIDS - 1), { nil: undefined, freq: 2 }),
    observed: fc.array(fc.nat(5), { maxLength: 2 }),
    wrote: fc.array(fc.nat(5), { maxLength: 2 }),
    linked: fc.option(fc.integer({ min: 1, max: SPAN_IDS }), { nil: undefined, freq: 3 }),
  })
  .map(({ trace, id, parent, carried, observed, wrote, linked }) => ({
    kind: 'span',
    span: {
      trace,
      id: trace * 100 + id,
      ...(parent !== undefined && { parent: trace * 100 + parent }),
      ...(carried !== undefined && { cpid: cpid(carried + 1) }),
      attributes: { 'cpid.observed': observed.map(podAt), 'cpid.wrote': wrote.map(podAt) },
      ...(linked !== undefined && { links: [{ trace, id: trace * 100 + linked }] }),
    },
  }))

const aMergelog: fc.Arbitrary<Step> = fc
  .record({ at: fc.nat(CPIDS - 1), sources: fc.uniqueArray(fc.nat(CPIDS - 1), { maxLength: 3 }) })
  .map(({ at, sources }) => ({ kind: 'mergelog', at, sources: sources.filter((source) => source < at) }))

const aPass: fc.Arbitrary<Step> = fc
  .constantFrom(0, 4_000, 11_000, 301_000)
  .map((ms) => ({ kind: 'pass', ms }))

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: aSpan },
    { weight: 2, arbitrary: aMergelog },
    { weight: 1, arbitrary: aPass },
  ),
  {
    maxLength: 40,
  },
)

test.each(['cascade', 'links'] as const)(
  '%s: whatever arrives whenever, traces are sound and no span is lost',
  async (mode) => {
    await fc.assert(
      fc.asyncProperty(steps, async (drawn) => {
        using writer = await TestWriter.open({ linking: { mode, maxFanout: 2, maxTraceSpans: 12 } })
        const arrived = new Map<string, SpanSketch>()
        for (const step of drawn) {
          switch (step.kind) {
            case 'pass':
              writer.pass(step.ms)
              break
            case 'mergelog':
              writer.mergelogs('merger', [
                { new: cpid(step.at + 1), sources: step.sources.map((source) => cpid(source + 1)) },
              ])
              break
            case 'span': {
              // The first span of an id counts; the same id again, with other content, is a sender's fault.
              const key = `${step.span.trace} ${step.span.id}`
              if (arrived.has(key)) break
              arrived.set(key, step.span)
              writer.spans('controller', [step.span])
            }
          }
        }
        writer.pass(11_000)
        writer.pass(301_000)
        writer.pass(11_000)

        const sent = sentSpans(writer.db)
        const original = new Set([hexTrace(1), hexTrace(2)])
        const missing = new Set<string>()
        for (let trace = 1; trace <= 2; trace++) {
          for (let id = 1; id <= SPAN_IDS; id++)
            if (!arrived.has(`${trace} ${trace * 100 + id}`)) missing.add(hexSpan(trace * 100 + id))
        }
        expectSoundTraces(
          sent.filter((span) => !original.has(span.traceId)),
          missing,
        )
        const delivered = new Set(sent.map((span) => span.spanId))
        for (const span of arrived.values()) expect(delivered).toContain(hexSpan(span.id))
        expect(writer.writer.gauges()).toMatchObject({ waiting: 0, openTraces: 0 })
      }),
      { numRuns: 250 },
    )
  },
)
