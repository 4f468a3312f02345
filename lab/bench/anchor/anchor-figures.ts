import { percentile, type Curve } from '../measure/figures.ts'
import type { AnchorRun } from './anchor-run.ts'
import { bySimulatedSecond } from './process-samples.ts'
import { CPIDS_PER_CHANGE, SPANS_PER_CHANGE } from './steps.ts'

/** What one round adds to each curve: values by the second. */
export type RoundCurves = Record<'memory' | 'database' | 'lag', Map<number, number[]>>

/** Points of a curve over the whole time. */
const POINTS = 60

export function paceFigures(run: AnchorRun, seconds: number): Record<string, number> {
  const { sent, spans, counted } = run
  const endedMs = Math.max(...sent.secondsEndedMs)
  const took = (endedMs - sent.startedMs) / 1000
  return {
    speed: seconds / took,
    changesPerSecond: spans / SPANS_PER_CHANGE / took,
    spansPerSecond: spans / took,
    ackP99Ms: percentile(sent.latenciesMs, 0.99),
    drainSeconds: Math.max(0, run.reachedMs - endedMs) / 1000,
    cores: run.cpuSeconds / ((run.reachedMs - sent.startedMs) / 1000),
    copiesPerSpan: counted.copies / spans,
    peakRssMib: run.peakRssMib,
  }
}

export function memoryFigures(
  { samples, sent }: AnchorRun,
  seconds: number,
): { figures: Record<string, number>; curves: Pick<RoundCurves, 'memory' | 'database'> } {
  const placed = bySimulatedSecond(samples, sent.secondsEndedMs)
  const rssBetween = (from: number, to: number): number[] =>
    placed.flatMap(({ second, sample }) =>
      second >= from * seconds && second <= to * seconds ? [sample.rssMib] : [],
    )
  const at = (part: number): number =>
    placed.findLast(({ second }) => second <= part * seconds)?.sample.rssMib ?? Number.NaN
  const step = Math.max(1, Math.round(seconds / POINTS))
  const memory = new Map<number, number[]>()
  const database = new Map<number, number[]>()
  for (const { second, sample } of placed) {
    const x = Math.min(seconds, Math.floor(second / step) * step)
    add(memory, x, sample.rssMib)
    add(database, x, sample.databaseMib)
  }
  return {
    figures: {
      rss10Mib: at(0.1),
      rss50Mib: at(0.5),
      rss100Mib: at(1),
      memoryRatio: Math.max(...rssBetween(0.5, Infinity)) / Math.max(...rssBetween(0, 0.5)),
      databaseMib: samples.at(-1)?.databaseMib ?? Number.NaN,
    },
    curves: { memory, database },
  }
}

export function realTimeFigures({ sent, counted, cpuSeconds, reachedMs, spans }: AnchorRun): {
  figures: Record<string, number>
  curves: Pick<RoundCurves, 'lag'>
} {
  const lag = new Map<number, number[]>()
  const beyond: number[] = []
  const whole: number[] = []
  counted.cameMs.forEach((cameMs, span) => {
    const acknowledgedMs = sent.acknowledgedMs[span] ?? Number.NaN
    const late = Math.max(0, cameMs - (sent.linkableMs[span] ?? Number.NaN)) / 1000
    beyond.push(late)
    whole.push(Math.max(0, cameMs - acknowledgedMs) / 1000)
    add(lag, Math.floor((acknowledgedMs - sent.startedMs) / 1000), late)
  })
  beyond.sort((a, b) => a - b)
  whole.sort((a, b) => a - b)
  const took = (Math.max(...sent.secondsEndedMs) - sent.startedMs) / 1000
  return {
    figures: {
      realSpansPerSecond: spans / took,
      realAckP99Ms: percentile(sent.latenciesMs, 0.99),
      realCores: cpuSeconds / ((reachedMs - sent.startedMs) / 1000),
      lagP50: percentile(beyond, 0.5),
      lagP99: percentile(beyond, 0.99),
      lagMax: percentile(beyond, 1),
      wholeLagP50: percentile(whole, 0.5),
      wholeLagP99: percentile(whole, 0.99),
    },
    curves: { lag },
  }
}

/** Median, lowest and highest of all rounds at each place. */
export function overTime(rounds: readonly RoundCurves[]): Curve[] {
  const curve = (
    key: keyof RoundCurves,
    title: string,
    xLabel: string,
    yLabel: string,
    name: string,
  ): Curve => ({
    title,
    xLabel,
    yLabel,
    series: [{ name, points: pointsOf(rounds.map((round) => round[key])) }],
  })
  const simulated = `simulated seconds, each with 100 Pod changes and ${100 * CPIDS_PER_CHANGE} CPIDs`
  return [
    curve('memory', 'Memory under the load of a large cluster', simulated, 'MiB', 'memory of the process'),
    curve('database', 'Database under the load of a large cluster', simulated, 'MiB', 'database file'),
    curve('lag', 'From linkable to the backend, at real time', 'seconds', 's', 'a span'),
  ]
}

function pointsOf(rounds: readonly Map<number, number[]>[]): Curve['series'][number]['points'] {
  const values = new Map<number, number[]>()
  for (const round of rounds) for (const [x, some] of round) for (const value of some) add(values, x, value)
  return [...values]
    .sort(([a], [b]) => a - b)
    .map(([x, some]) => {
      const sorted = some.sort((a, b) => a - b)
      return { x, median: percentile(sorted, 0.5), min: percentile(sorted, 0), max: percentile(sorted, 1) }
    })
}

function add(values: Map<number, number[]>, x: number, value: number): void {
  const some = values.get(x)
  if (some === undefined) values.set(x, [value])
  else some.push(value)
}
