import type { Figure, SectionResult } from '../measure/figures.ts'
import { LOAD, type LoadName } from './loads.ts'
import type { FigureName, LoadResult } from './peers-data.ts'
import { LABELS, type ProgramName } from './programs.ts'

type Measured = readonly [ProgramName, FigureName]

interface Ratio {
  label: string
  load: LoadName
  of: Measured
  to: Measured
  atLeast?: number
}

const INGEST: Measured = ['causeway', 'acknowledged']

const RATIOS: readonly Ratio[] = [
  ...(['large', 'small', 'json'] as const).flatMap((load): Ratio[] =>
    (['collector-fsync', 'collector', 'jaeger'] as const).map((peer) => ({
      label: `${LABELS.causeway} ÷ ${LABELS[peer]}; ${LOAD[load].label}`,
      load,
      of: INGEST,
      to: [peer, 'acknowledged'],
      ...(load === 'large' && { atLeast: peer === 'jaeger' ? 4 : 2 }),
    })),
  ),
  {
    label: `Causeway: the whole stream stored, linked and at the backend ÷ stored; ${LOAD.large.label}`,
    load: 'large',
    of: ['causeway-export', 'endToEnd'],
    to: INGEST,
    atLeast: 0.4,
  },
  ...(['collector-fsync', 'collector'] as const).map((peer): Ratio => ({
    label: `until the backend has all: Causeway ÷ ${LABELS[peer]}; ${LOAD.large.label}`,
    load: 'large',
    of: ['causeway-export', 'endToEnd'],
    to: [peer, 'endToEnd'],
  })),
]

/** Each ratio of each round, so that what disturbs a round disturbs both of its sides. */
export function ratiosOf(loads: readonly LoadResult[], rounds: number): SectionResult {
  const figures: Record<string, Figure> = {}
  const values: Record<string, number>[] = Array.from({ length: rounds }, () => ({}))
  for (const { label, load, of, to, atLeast } of RATIOS) {
    const key = `${load}: ${of.join(' ')} / ${to.join(' ')}`
    for (const [round, row] of values.entries()) {
      const ratio = valueOf(loads, load, of, round) / valueOf(loads, load, to, round)
      if (Number.isNaN(ratio)) continue
      row[key] = ratio
      figures[key] = {
        label,
        unit: '×',
        digits: 2,
        ...(atLeast !== undefined && { target: { atLeast } }),
      }
    }
  }
  return { name: 'ratios', about: 'the rates of one round, one through the other', figures, rounds: values }
}

function valueOf(
  loads: readonly LoadResult[],
  load: LoadName,
  [program, figure]: Measured,
  round: number,
): number {
  const runs = loads.find((one) => one.load === load)?.programs.find((one) => one.program === program)?.rounds
  return runs?.[round]?.[figure] ?? Number.NaN
}
