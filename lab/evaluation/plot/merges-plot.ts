import { LIMITS, UNAVOIDABLE_MERGES, DEPLOYMENTS } from '../merges/paper.ts'
import type { MergesData } from '../merges/measure.ts'
import { lineChart, type ChartPoint } from '../../charts/line-chart.ts'

const X = { label: 'N, the most ancestors an object carries', ticks: LIMITS }

/** Mergelogs of the scenario, mean and standard error. */
export function mergesPlot({ points, seeds }: MergesData): string {
  const most = Math.max(...points.map(({ merges }) => merges.max))
  const top = Math.ceil(most / 50) * 50
  return lineChart({
    title: `Merges in the scenario of section 5.1.2, mean of ${seeds} seeds`,
    description: points.map(({ limit, merges }) => `N = ${limit}: ${merges.mean}`).join('; '),
    x: X,
    y: { label: 'merges', ticks: steps(top, 50) },
    line: { y: UNAVOIDABLE_MERGES * DEPLOYMENTS, name: 'the floor: seven for each Deployment' },
    series: [
      {
        name: 'mean and standard error',
        look: 'first',
        points: points.map(({ limit, merges: { mean, standardError } }) => ({
          x: limit,
          y: mean,
          spread: { from: mean - standardError, to: mean + standardError },
        })),
      },
    ],
  })
}

/** The same in percent of N = 0, beside what the paper says of its figure, and what is left of the avoidable merges. */
export function percentPlot({ points }: MergesData): string {
  const paper = points.flatMap(({ limit, paperPercent }): ChartPoint[] =>
    paperPercent === undefined ? [] : [{ x: limit, y: paperPercent }],
  )
  return lineChart({
    title: 'Merges in percent of those without ancestors',
    description: points.map(({ limit, percent }) => `N = ${limit}: ${percent.toFixed(1)} %`).join('; '),
    x: X,
    y: { label: 'percent of N = 0', ticks: steps(100, 20), unit: ' %' },
    series: [
      {
        name: 'Causeway',
        look: 'first',
        points: points.map(({ limit, percent }) => ({ x: limit, y: percent })),
      },
      { name: 'the paper, Figure 11', look: 'second', points: paper },
      {
        name: 'avoidable merges only',
        look: 'third',
        points: points.map(({ limit, avoidable }) => ({ x: limit, y: 100 * avoidable })),
      },
    ],
  })
}

function steps(top: number, by: number): number[] {
  return Array.from({ length: top / by + 1 }, (_, at) => at * by)
}
