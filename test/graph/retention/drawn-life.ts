import fc from 'fast-check'
import type { LogSketch, SpanSketch } from '../../support/otlp-requests.ts'

/** What happens to one Causeway, step by step. Times are milliseconds, exporters the places of those there are. */
export type LifeStep =
  | { kind: 'span'; span: SpanSketch }
  | { kind: 'mergelog'; at: number; sources: number[]; object: boolean; time: 'now' | 'none' | 'ahead' }
  | { kind: 'log'; log: LogSketch }
  /** A request that was sent before, or what it holds together with something new. */
  | { kind: 'again'; nth: number; batched: boolean }
  | { kind: 'refused' }
  | { kind: 'link'; most: number }
  | { kind: 'expire'; most: number }
  /** Time goes by; where it works, all that is there is linked before, and what is due leaves and settles after. */
  | { kind: 'pass'; ms: number; works: boolean }
  | { kind: 'prune'; budget: number; turns: number }
  /** A turn of pruning that the disk breaks off. */
  | { kind: 'break'; steps: number }
  /** An exporter takes some; what it does not save it takes again after a restart. */
  | { kind: 'export'; exporter: number; most: number; saves: boolean }
  /** With these exporters from then on; one that was not there begins at the end. */
  | { kind: 'restart'; exporters: readonly string[] }

export interface LifeSettings {
  mode: 'cascade' | 'links' | 'passthrough'
  logs: boolean
  maxFanout: number
  maxTraceSpans: number
  maxCpids: number
  maxAgeMs: number
  /** Above what an empty database takes; 0 for no limit. */
  bytesAbove: number
  exporters: readonly string[]
}

export interface Life {
  settings: LifeSettings
  steps: LifeStep[]
  /** What is left at the end is pruned by another process. */
  endsAnew: boolean
}

export const HOUR_MS = 3_600_000
const CPIDS = 6
const TRACES = 3
const SPAN_IDS = 4
const EXPORTERS = ['a', 'b']

const podAt = (version: number): string => `v1/pods/default/web-${version % 2}?rv=${version}`
const spanId = (trace: number, id: number): number => trace * 100 + id

const aTrace = fc.integer({ min: 1, max: TRACES })
const aSpanId = fc.integer({ min: 1, max: SPAN_IDS })
const aCpid = fc.integer({ min: 1, max: CPIDS })
const maybe = <T>(of: fc.Arbitrary<T>, freq = 2): fc.Arbitrary<T | undefined> =>
  fc.option(of, { nil: undefined, freq })

/** The CPID that a sketch carries is put in by its number, see `cpid`. */
const numbered = (cpid: number): string => `00000000-0000-4000-8000-${cpid.toString(16).padStart(12, '0')}`

/** Some are only ever roots, so that there are several. */
const isRoot = (cpid: number): boolean => cpid % 2 === 0

const aSpan: fc.Arbitrary<LifeStep> = fc
  .record({
    trace: aTrace,
    id: aSpanId,
    parent: maybe(aSpanId, 4),
    carried: maybe(aCpid),
    observed: fc.array(fc.nat(4), { maxLength: 1 }),
    wrote: fc.array(fc.nat(4), { maxLength: 1 }),
  })
  .map(({ trace, id, parent, carried, observed, wrote }) => ({
    kind: 'span',
    span: {
      trace,
      id: spanId(trace, id),
      ...(parent !== undefined && { parent: spanId(trace, parent) }),
      ...(carried !== undefined && { cpid: numbered(carried) }),
      attributes: {
        ...(observed.length > 0 && { 'cpid.observed': observed.map(podAt) }),
        ...(wrote.length > 0 && { 'cpid.wrote': wrote.map(podAt) }),
      },
    },
  }))

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
  .map(({ trace, id, carried, number }) => ({
    kind: 'log',
    log: {
      body: `record ${number}`,
      ...(trace !== undefined && { trace, span: spanId(trace, id) }),
      ...(carried !== undefined && { cpid: numbered(carried) }),
    },
  }))

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
      .record({ budget: fc.constantFrom(0, 1, 1_000), turns: fc.constantFrom(1, 3, 200) })
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
  { weight: 1, arbitrary: fc.constant({ kind: 'refused' }) },
  { weight: 1, arbitrary: fc.nat(5).map((steps) => ({ kind: 'break', steps })) },
]

const aStep: fc.Arbitrary<LifeStep> = fc.oneof(
  { weight: 6, arbitrary: aSpan },
  { weight: 3, arbitrary: aMergelog },
  { weight: 2, arbitrary: aLog },
  ...others,
  { weight: 1, arbitrary: fc.oneof(...rare) },
)

const settings: fc.Arbitrary<LifeSettings> = fc.record({
  mode: fc.constantFrom('cascade', 'cascade', 'links', 'passthrough'),
  logs: fc.boolean(),
  maxFanout: fc.constantFrom(1, 2, 8),
  maxTraceSpans: fc.constantFrom(4, 10_000),
  maxCpids: fc.constantFrom(0, 1, 1, 3),
  maxAgeMs: fc.constantFrom(0, HOUR_MS),
  bytesAbove: fc.constantFrom(0, 0, 0, 0, 1, 8_000, 40_000),
  exporters: fc.constantFrom([], ['a'], ['a', 'b'], ['a', 'b']),
})

/** Whatever may happen, in any order, to a Causeway with whatever limits. */
export const lives: fc.Arbitrary<Life> = fc.record({
  settings,
  steps: fc.noBias(fc.array(aStep, { maxLength: 80, size: 'max' })),
  endsAnew: fc.boolean(),
})
