import fc from 'fast-check'
import { aCpid, aSpanId, aStep, aTrace, logOf, MODES, spanOf } from './drawn-steps.ts'
import { HOUR_MS, type Life, type LifeSettings, type LifeStep } from './life.ts'

const pass = (ms: number): LifeStep => ({ kind: 'pass', ms, works: true })
const PRUNE: LifeStep = { kind: 'prune', budget: 1_000, turns: 200 }
const SETTLED = [pass(11_000), pass(301_000), PRUNE]
const root = (at: number): LifeStep => ({ kind: 'mergelog', at, sources: [], object: false, time: 'now' })

/** A span whose parent comes after it, of the same CPID, of another or of none. */
const aFamily: fc.Arbitrary<LifeStep[]> = fc
  .record({
    trace: aTrace,
    ids: fc.uniqueArray(aSpanId, { minLength: 2, maxLength: 3 }),
    child: aCpid,
    parent: fc.option(aCpid, { nil: undefined, freq: 1 }),
    explained: fc.boolean(),
    ms: fc.constantFrom(0, 0, 11_000, 301_000),
  })
  .map(({ trace, ids: [parentId = 1, ...children], child, parent, explained, ms }) => [
    ...(explained ? [root(child)] : []),
    ...children.map((id, at) => spanOf({ trace, id, parent: parentId, carried: Math.max(1, child - at) })),
    pass(ms),
    spanOf({ trace, id: parentId, carried: parent }),
    pass(0),
  ])

/** A trace that goes on while the others settle. */
const aLongTrace: fc.Arbitrary<LifeStep[]> = fc
  .record({ trace: aTrace, id: aSpanId, carried: aCpid })
  .map((span) => [pass(160_000), spanOf(span), pass(160_000), PRUNE])

/** Work of a CPID that was made of one which may have been pruned before. */
const aLateDescendant: fc.Arbitrary<LifeStep[]> = fc
  .record({ source: fc.constantFrom(1, 2, 4), trace: aTrace, id: aSpanId, at: fc.constantFrom(5, 3) })
  .map(({ source, trace, id, at }) => [
    ...SETTLED,
    { kind: 'mergelog', at, sources: [Math.min(source, at - 1)], object: false, time: 'now' },
    spanOf({ trace, id, carried: at }),
    pass(0),
  ])

/** A log record that takes the CPID of its span. */
const aLoggedSpan: fc.Arbitrary<LifeStep[]> = fc
  .record({ trace: aTrace, id: aSpanId, carried: aCpid, number: fc.nat(99) })
  .map(({ trace, id, carried, number }) => [
    spanOf({ trace, id, carried }),
    logOf({ trace, id, carried: undefined, number }),
    pass(11_000),
  ])

/** Everybody sends all there is but these exporters. */
const allSent: fc.Arbitrary<LifeStep[]> = fc
  .subarray([0, 1, 2, 3], { minLength: 2 })
  .map((exporters) => exporters.map((exporter) => ({ kind: 'export', exporter, most: 1_000, saves: true })))

const OLD = [PRUNE, pass(HOUR_MS + 2_000), PRUNE]

/** Much of what goes wrong takes some steps that belong together. */
const aScene: fc.Arbitrary<LifeStep[]> = fc.oneof(
  { weight: 20, arbitrary: aStep.map((step) => [step]) },
  { weight: 2, arbitrary: aFamily },
  { weight: 1, arbitrary: aLoggedSpan },
  { weight: 1, arbitrary: aLongTrace },
  { weight: 1, arbitrary: aLateDescendant },
  { weight: 2, arbitrary: allSent },
  { weight: 2, arbitrary: fc.constantFrom(SETTLED, SETTLED, OLD) },
)

const settings: fc.Arbitrary<LifeSettings> = fc.record({
  mode: MODES,
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
  steps: fc.noBias(fc.array(aScene, { maxLength: 60, size: 'max' })).map((scenes) => scenes.flat()),
  endsAnew: fc.boolean(),
})
