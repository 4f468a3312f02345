import fc from 'fast-check'
import { changeSpanId } from '../../src/linker/synthetic-spans.ts'
import { type Cpid, cpidBytes } from '../../src/model/merge-graph.ts'
import { spanIdHex } from '../../src/model/otlp/encode-telemetry.ts'
import { cpid, type SpanSketch } from './otlp-requests.ts'
import type { TestWriter } from './test-writer.ts'

export type Step =
  | { kind: 'span'; span: SpanSketch }
  | { kind: 'mergelog'; at: number; sources: number[] }
  | { kind: 'pass'; ms: number }

const CPIDS = 6
/** Spans name parents among these; some never arrive. */
export const SPAN_IDS = 6

const podAt = (version: number): string => `v1/pods/default/web?rv=${version}`

/** The id of the change span of a CPID in the trace of a root. */
const idOfChange = (root: number, of: number): string =>
  spanIdHex(changeSpanId(cpidBytes(cpid(root + 1) as Cpid), cpid(of + 1) as Cpid))

const aSpan: fc.Arbitrary<Step> = fc
  .record({
    trace: fc.integer({ min: 1, max: 2 }),
    id: fc.integer({ min: 1, max: SPAN_IDS }),
    parent: fc.option(fc.integer({ min: 1, max: SPAN_IDS }), { nil: undefined }),
    carried: fc.option(fc.nat(CPIDS - 1), { nil: undefined, freq: 2 }),
    observed: fc.array(fc.nat(5), { maxLength: 2 }),
    wrote: fc.array(fc.nat(5), { maxLength: 2 }),
    linked: fc.option(fc.integer({ min: 1, max: SPAN_IDS }), { nil: undefined, freq: 3 }),
    forged: fc.option(fc.nat(CPIDS - 1), { nil: undefined, freq: 4 }),
  })
  .map(({ trace, id, parent, carried, observed, wrote, linked, forged }) => ({
    kind: 'span',
    span: {
      trace,
      id: trace * 100 + id,
      ...(parent !== undefined && { parent: trace * 100 + parent }),
      ...(carried !== undefined && { cpid: cpid(carried + 1) }),
      ...(carried !== undefined && forged !== undefined && { spanId: idOfChange(forged, carried) }),
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

/** Whatever may arrive, in any order: spans, mergelogs, time. */
export const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: aSpan },
    { weight: 2, arbitrary: aMergelog },
    { weight: 1, arbitrary: aPass },
  ),
  {
    maxLength: 40,
  },
)

/**
 * Does the steps: of spans with the same id only the first arrives; the same id again, with other content, is a sender's
 * fault. Returns what arrived. `after` is told of each step done.
 */
export function play(
  writer: () => TestWriter,
  drawn: readonly Step[],
  after?: () => void,
): Map<string, SpanSketch> {
  const arrived = new Map<string, SpanSketch>()
  const forged = new Set<string>()
  for (const step of drawn) {
    switch (step.kind) {
      case 'pass':
        writer().pass(step.ms)
        break
      case 'mergelog':
        writer().mergelogs('merger', [
          { new: cpid(step.at + 1), sources: step.sources.map((source) => cpid(source + 1)) },
        ])
        break
      case 'span': {
        const key = `${step.span.trace} ${step.span.id}`
        if (arrived.has(key)) break
        const { spanId, ...plain } = step.span
        const isForged = spanId !== undefined && !forged.has(spanId)
        if (isForged) forged.add(spanId)
        const span = isForged ? step.span : plain
        arrived.set(key, span)
        writer().spans('controller', [span])
      }
    }
    after?.()
  }
  return arrived
}
