import fc from 'fast-check'
import { cpid } from '../../support/otlp-requests.ts'
import { HOUR_MS, type LifeStep } from './life.ts'

const CPIDS = 6
const TRACES = 3
const SPAN_IDS = 4
const EXPORTERS = ['a', 'b']
export const MODES = fc.constantFrom('cascade', 'cascade', 'links', 'passthrough')

const podAt = (version: number): string => `v1/pods/default/web-${version % 2}?rv=${version}`
const spanId = (trace: number, id: number): number => trace * 100 + id

export const aTrace = fc.integer({ min: 1, max: TRACES })
export const aSpanId = fc.integer({ min: 1, max: SPAN_IDS })
export const aCpid = fc.integer({ min: 1, max: CPIDS })
const maybe = <T>(of: fc.Arbitrary<T>, freq = 2): fc.Arbitrary<T | undefined> =>
  fc.option(of, { nil: undefined, freq })

/** Some are only ever roots, so that there are several. */
const isRoot = (cpid: number): boolean => cpid % 2 === 0

interface DrawnSpan {
  trace: number
  id: number
  parent?: number | undefined
  carried: number | undefined
  observed?: number[]
  wrote?: number[]
}

export function spanOf({ trace, id, parent, carried, observed = [], wrote = [] }: DrawnSpan): LifeStep {
  return {
    kind: 'span',
    span: {
      trace,
      id: spanId(trace, id),
      ...(parent !== undefined && { parent: spanId(trace, parent) }),
      ...(carried !== undefined && { cpid: cpid(carried) }),
      attributes: {
        ...(observed.length > 0 && { 'cpid.observed': observed.map(podAt) }),
        ...(wrote.length > 0 && { 'cpid.wrote': wrote.map(podAt) }),
      },
    },
  }
}

interface DrawnLog {
  trace: number | undefined
  id: number
  carried: number | undefined
  number: number
}

export function logOf({ trace, id, carried, number }: DrawnLog): LifeStep {
  return {
    kind: 'log',
    log: {
      body: `record ${number}`,
      ...(trace !== undefined && { trace, span: spanId(trace, id) }),
      ...(carried !== undefined && { cpid: cpid(carried) }),
    },
  }
}

const aSpan: fc.Arbitrary<LifeStep> = fc
  .record({
    trace: aTrace,
    id: aSpanId,
    parent: maybe(aSpanId, 4),
    carried: maybe(aCpid),
    observed: fc.array(fc.nat(4), { maxLength: 1 }),
    wrote: fc.array(fc.nat(4), { maxLength: 1 }),
  })
  .map(spanOf)

const aTime = fc.constantFrom('now', 'now', 'now', 'none', 'ahead')

const aMergelog: fc.Arbitrary<LifeStep> = fc
  .record({ at: aCpid, sources: fc.uniqueArray(aCpid, { maxLength: 2 }), object: fc.boolean(), time: aTime })
  .map(({ at, sources, ...rest }) => ({
    kind: 'mergelog',
    at,
    sources: sources.filter((source) => source < at && !isRoot(at)),
    ...rest,
  }))

const aLog: fc.Arbitrary<LifeStep> = fc
  .record({ trace: maybe(aTrace), id: aSpanId, carried: maybe(aCpid, 1), number: fc.nat(99) })
  .map(logOf)

const most = fc.constantFrom(1, 3, 1_000)

const others: fc.WeightedArbitrary<LifeStep>[] = [
  {
    weight: 4,
    arbitrary: fc
      .record({
        ms: fc.constantFrom(0, 4_000, 11_000, 160_000, 301_000, 301_000, 1_900_000, HOUR_MS + 2_000),
        works: fc.constantFrom(true, true, true, false),
      })
      .map((pass) => ({ kind: 'pass', ...pass })),
  },
  { weight: 2, arbitrary: most.map((limit) => ({ kind: 'link', most: limit })) },
  { weight: 2, arbitrary: most.map((limit) => ({ kind: 'expire', most: limit })) },
  {
    weight: 3,
    arbitrary: fc
      .record({
        budget: fc.constantFrom(0, 1, 1_000),
        turns: fc.constantFrom(1, 3, 200),
        looks: fc.constantFrom(0, 1, 2, 5, 1_000),
      })
      .map((prune) => ({ kind: 'prune', ...prune })),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ exporter: fc.nat(3), most, saves: fc.constantFrom(true, true, true, false) })
      .map((sent) => ({ kind: 'export', ...sent })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({ nth: fc.nat(20), batched: fc.boolean() })
      .map((what) => ({ kind: 'again', ...what })),
  },
]

const rare: fc.WeightedArbitrary<LifeStep>[] = [
  {
    weight: 1,
    arbitrary: fc.subarray(EXPORTERS).map((exporters) => ({ kind: 'restart', exporters })),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart', exporters: EXPORTERS }) },
  { weight: 1, arbitrary: MODES.map((mode) => ({ kind: 'restart', exporters: EXPORTERS, mode })) },
  { weight: 1, arbitrary: fc.constant({ kind: 'refused' }) },
  { weight: 1, arbitrary: fc.nat(5).map((steps) => ({ kind: 'break', steps })) },
]

export const aStep: fc.Arbitrary<LifeStep> = fc.oneof(
  { weight: 6, arbitrary: aSpan },
  { weight: 3, arbitrary: aMergelog },
  { weight: 2, arbitrary: aLog },
  ...others,
  { weight: 1, arbitrary: fc.oneof(...rare) },
)
