import { medianInterval, quartilesOf, type Quartiles } from '../statistics.ts'
import { WAYS, type Way } from './cpu-per-reconcile.ts'
import type { OverheadData } from './measure.ts'
import type { Pair, PropagationRun } from './propagation.ts'
import { STEPS } from './scenario.ts'

/** The most that instrumentation may add to the propagation time. */
export const MAX_ADDED_PERCENT = 2

/** What the paper measured (section 5.1.1). */
export const PAPER = {
  plainSeconds: 6.42,
  tracedSeconds: 14.77,
  millicores: 18,
  mib: 29,
  apiServerMillicores: 68,
  apiServerMib: 45,
}

/** With fewer, the busy pairs count too. */
const MIN_CALM = 6

export interface OverheadFindings {
  /** How many pairs the figures are of, and whether those are the calm ones. */
  counted: number
  areCalm: boolean
  /** The same for all pairs that were measured. */
  ofAll: { pairs: number; addedPercent: number; addedBetween: { from: number; to: number } }
  /** Of all steps of all runs, in ms. */
  plainMs: Quartiles
  tracedMs: Quartiles
  /** The whole scenario with instrumentation by that without, pair by pair. */
  ratio: Quartiles
  addedPercent: number
  /** Where it lies with about 95 % confidence. */
  addedBetween: { from: number; to: number }
  isMet: boolean
  /** Cores that other programs used meanwhile. */
  othersCores: Quartiles
  steps: { replicas: number; plainMs: Quartiles; tracedMs: Quartiles }[]
  writes: { plain: Quartiles; traced: Quartiles }
  bytesPerObject: { plain: number; traced: number }
  /** CPU of the whole control plane for a scenario, in ms. */
  planeCpuMs: { plain: Quartiles; traced: Quartiles }
  /** For each reconcile, in µs. */
  cpuUs: Record<Way, Quartiles>
  /** By that without telemetry, round by round. */
  cpuRatio: Record<Way, Quartiles>
}

export function findingsOf({ propagation, cpu }: OverheadData): OverheadFindings {
  const calm = propagation.pairs.filter(({ isCalm }) => isCalm)
  const pairs = calm.length >= MIN_CALM ? calm : propagation.pairs
  const both = (value: (run: PropagationRun) => number) => ({
    plain: quartilesOf(pairs.map(({ plain }) => value(plain))),
    traced: quartilesOf(pairs.map(({ traced }) => value(traced))),
  })
  const ratios = pairs.map(ratioOf)
  const ofAll = propagation.pairs.map(ratioOf)
  const ratio = quartilesOf(ratios)
  const { from, to } = medianInterval(ratios)
  const addedPercent = percentAdded(ratio.median)
  const bytes = both(({ server }) => server.bytesPerObject)
  return {
    plainMs: stepsOf(pairs, ({ plain }) => plain),
    tracedMs: stepsOf(pairs, ({ traced }) => traced),
    ratio,
    counted: pairs.length,
    areCalm: pairs === calm,
    addedPercent,
    addedBetween: { from: percentAdded(from), to: percentAdded(to) },
    ofAll: {
      pairs: ofAll.length,
      addedPercent: percentAdded(quartilesOf(ofAll).median),
      addedBetween: {
        from: percentAdded(medianInterval(ofAll).from),
        to: percentAdded(medianInterval(ofAll).to),
      },
    },
    othersCores: quartilesOf(pairs.flatMap(({ plain, traced }) => [plain.othersCores, traced.othersCores])),
    isMet: addedPercent <= MAX_ADDED_PERCENT,
    steps: STEPS.map((replicas, at) => ({
      replicas,
      plainMs: quartilesOf(pairs.map(({ plain }) => plain.stepsMs[at] ?? Number.NaN)),
      tracedMs: quartilesOf(pairs.map(({ traced }) => traced.stepsMs[at] ?? Number.NaN)),
    })),
    writes: both(({ server }) => server.writes),
    bytesPerObject: { plain: bytes.plain.median, traced: bytes.traced.median },
    planeCpuMs: both(({ planeCpuMs }) => planeCpuMs),
    cpuUs: byWay((way) => quartilesOf(cpu.rounds.map((round) => round[way]))),
    cpuRatio: byWay((way) => quartilesOf(cpu.rounds.map((round) => round[way] / round.plain))),
  }
}

function stepsOf(pairs: readonly Pair[], run: (pair: Pair) => PropagationRun): Quartiles {
  return quartilesOf(pairs.flatMap((pair) => run(pair).stepsMs))
}

function byWay<T>(value: (way: Way) => T): Record<Way, T> {
  return Object.fromEntries(WAYS.map((way) => [way, value(way)])) as Record<Way, T>
}

function ratioOf({ plain, traced }: Pair): number {
  return traced.totalMs / plain.totalMs
}

function percentAdded(ratio: number): number {
  return 100 * (ratio - 1)
}
