import { quartilesOf, type Quartiles } from '../statistics.ts'
import { WAYS, type Way } from './cpu-per-reconcile.ts'
import type { OverheadData } from './measure.ts'
import type { Pair, PropagationRun } from './propagation.ts'
import { STEPS } from './scenario.ts'

/** The most that instrumentation may add to the propagation time. */
export const MOST_ADDED_PERCENT = 2

/** What the paper measured (section 5.1.1). */
export const PAPER = {
  plainSeconds: 6.42,
  tracedSeconds: 14.77,
  millicores: 18,
  mib: 29,
  apiServerMillicores: 68,
  apiServerMib: 45,
}

export interface OverheadFindings {
  /** Of all steps of all runs, in ms. */
  plainMs: Quartiles
  tracedMs: Quartiles
  /** The whole scenario with instrumentation by that without, pair by pair. */
  ratio: Quartiles
  addedPercent: number
  isMet: boolean
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

export function findingsOf({ propagation: { pairs }, cpu }: OverheadData): OverheadFindings {
  const both = (value: (run: PropagationRun) => number) => ({
    plain: quartilesOf(pairs.map(({ plain }) => value(plain))),
    traced: quartilesOf(pairs.map(({ traced }) => value(traced))),
  })
  const ratio = quartilesOf(pairs.map(({ plain, traced }) => traced.totalMs / plain.totalMs))
  const addedPercent = 100 * (ratio.median - 1)
  const bytes = both(({ server }) => server.bytesPerObject)
  return {
    plainMs: stepsOf(pairs, ({ plain }) => plain),
    tracedMs: stepsOf(pairs, ({ traced }) => traced),
    ratio,
    addedPercent,
    isMet: addedPercent <= MOST_ADDED_PERCENT,
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
