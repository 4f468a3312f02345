import { lineChart, type Look } from '../../charts/line-chart.ts'
import { niceTicks, powersOfTen, shortNumber } from '../../charts/nice-ticks.ts'
import type { Curve } from '../measure/figures.ts'

const LOOKS: readonly Look[] = ['first', 'second', 'third', 'fourth']

/** A curve with its medians, from the least to the most as error bars. */
export function curvePlot({ title, xLabel, yLabel, isLogX = false, series }: Curve): string {
  const points = series.flatMap((one) => one.points)
  const xs = points.map(({ x }) => x)
  return lineChart({
    title,
    description: series
      .map(
        ({ name, points }) =>
          `${name}: ${points.map(({ x, median }) => `${x} → ${short(median)}`).join(', ')}`,
      )
      .join('; '),
    x: {
      label: xLabel,
      ticks: isLogX ? powersOfTen(xs) : niceTicks(Math.max(...xs)),
      isLog: isLogX,
      text: shortNumber,
    },
    y: { label: yLabel, ticks: niceTicks(Math.max(...points.map(({ max }) => max))), text: shortNumber },
    series: series.map(({ name, points }, at) => ({
      name,
      look: LOOKS[at % LOOKS.length] ?? 'first',
      points: points.map(({ x, median, min, max }) => ({ x, y: median, spread: { from: min, to: max } })),
    })),
  })
}

function short(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 })
}
