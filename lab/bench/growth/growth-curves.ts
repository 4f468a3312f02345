import { spreadOf, type Curve } from '../measure/figures.ts'

/** What the rounds measured at one size. */
export interface Measured {
  size: number
  rounds: Record<string, number>[]
}

/** `series` names the line of each measured value. */
export function curveOf(
  title: string,
  xLabel: string,
  yLabel: string,
  measured: readonly Measured[],
  series: Readonly<Record<string, string>>,
): Curve {
  return {
    title,
    xLabel,
    yLabel,
    isLogX: true,
    series: Object.entries(series).map(([key, name]) => ({
      name,
      points: measured.flatMap(({ size, rounds }) => {
        const spread = spreadOf(rounds, key)
        return spread === undefined ? [] : [{ x: size, ...spread }]
      }),
    })),
  }
}
