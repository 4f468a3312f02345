import { findingsOf } from '../overhead/findings.ts'
import type { OverheadData } from '../overhead/measure.ts'
import { STEPS } from '../overhead/scenario.ts'
import type { Quartiles } from '../statistics.ts'
import { lineChart, type ChartPoint } from '../../charts/line-chart.ts'

/** Until all Pods are ready, for each step, median and quartiles. */
export function propagationPlot(data: OverheadData): string {
  const { steps } = findingsOf(data)
  const longest = Math.max(...steps.flatMap(({ plainMs, tracedMs }) => [plainMs.upper, tracedMs.upper]))
  const ticks = Array.from({ length: Math.ceil(longest / 250) + 1 }, (_, at) => (at * 250) / 1000)
  return lineChart({
    title: 'From the command until all Pods are ready',
    description: steps
      .map(
        ({ replicas, plainMs, tracedMs }) =>
          `${replicas}: ${seconds(plainMs.median)} and ${seconds(tracedMs.median)}`,
      )
      .join('; '),
    x: { label: 'replicas after the step', ticks: [0, ...STEPS] },
    y: { label: 'seconds, median and quartiles', ticks },
    series: [
      {
        name: 'instrumented',
        look: 'first',
        points: steps.map(({ replicas, tracedMs }) => pointAt(replicas + 0.4, tracedMs)),
      },
      {
        name: 'not instrumented',
        look: 'second',
        points: steps.map(({ replicas, plainMs }) => pointAt(replicas - 0.4, plainMs)),
      },
    ],
  })
}

/** A little to the side, so that error bars do not hide each other. */
function pointAt(x: number, { median, lower, upper }: Quartiles): ChartPoint {
  return { x, y: median / 1000, spread: { from: lower / 1000, to: upper / 1000 } }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`
}
