import { spreadOf, type Figure } from '../measure/figures.ts'
import { grouped } from '../measure/report.ts'
import { FIGURES, type FigureName, type LoadResult } from './peers-data.ts'
import { LABELS } from './programs.ts'

const COLUMNS: readonly { heading: string; figures: readonly FigureName[]; withSpread?: boolean }[] = [
  { heading: 'acknowledged, spans/s', figures: ['acknowledged'], withSpread: true },
  { heading: 'at the backend, spans/s', figures: ['endToEnd'], withSpread: true },
  { heading: 'reply p50, p99, ms', figures: ['p50Ms', 'p99Ms'] },
  { heading: 'CPU of a run, s', figures: ['cpuSeconds'] },
  { heading: 'CPU, s/million spans', figures: ['cpuPerMillion'], withSpread: true },
  { heading: 'cores meanwhile', figures: ['cores'] },
  { heading: 'peak memory, MiB', figures: ['peakRssMib'] },
  { heading: 'disk, bytes/span', figures: ['diskBytesPerSpan'] },
  { heading: 'refused', figures: ['refused'] },
  { heading: 'other programs, cores', figures: ['othersCores'] },
]

/** A row a program, the first of them the heading: medians, and where it matters from the least to the most. */
export function loadTable({ programs }: LoadResult): string[][] {
  return [
    ['', ...COLUMNS.map(({ heading }) => heading)],
    ...programs.map(({ program, rounds }) => [
      LABELS[program],
      ...COLUMNS.map(({ figures, withSpread = false }) =>
        figures
          .flatMap((name) => {
            const figure: Figure = FIGURES[name]
            const spread = spreadOf(rounds, name)
            if (spread === undefined) return []
            const text = (value: number): string => grouped(value, figure.digits)
            const { median, min, max } = spread
            return withSpread && min !== max
              ? [`${text(median)} (${text(min)} to ${text(max)})`]
              : [text(median)]
          })
          .join(', '),
      ),
    ]),
  ]
}
