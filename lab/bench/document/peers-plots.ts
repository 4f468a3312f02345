import { barChart } from '../../charts/bar-chart.ts'
import { spreadOf } from '../measure/figures.ts'
import { LOAD } from '../peers/loads.ts'
import { FIGURES, type FigureName, type PeersData } from '../peers/peers-data.ts'
import { LABELS, OWN_PROGRAMS } from '../peers/programs.ts'
import { grouped } from '../measure/report.ts'

const PLOTS: readonly { figure: FigureName; title: string; xLabel: string }[] = [
  { figure: 'acknowledged', title: 'Acknowledged spans', xLabel: 'spans a second' },
  { figure: 'endToEnd', title: 'Spans through to the backend', xLabel: 'spans a second' },
  {
    figure: 'cpuPerMillion',
    title: 'CPU, until everything put off is done',
    xLabel: 'seconds for a million spans',
  },
  { figure: 'peakRssMib', title: 'Peak memory', xLabel: 'MiB' },
  { figure: 'diskBytesPerSpan', title: 'On disk after the program stopped', xLabel: 'bytes a span' },
]

/** The pictures by their files; one whose figure nobody has is left out. */
export function peersPlots({ loads }: PeersData): { title: string; file: string; svg: string }[] {
  return PLOTS.flatMap(({ figure, title, xLabel }) => {
    const groups = loads
      .map(({ load, programs }) => ({
        name: LOAD[load].label,
        bars: programs.flatMap(({ program, rounds }) => {
          const spread = spreadOf(rounds, figure)
          if (spread === undefined) return []
          const { median, min, max } = spread
          return [
            {
              name: LABELS[program],
              isOwn: OWN_PROGRAMS.includes(program),
              value: median,
              spread: { from: min, to: max },
              text: grouped(median, FIGURES[figure].digits),
            },
          ]
        }),
      }))
      .filter(({ bars }) => bars.length > 0)
    if (groups.length === 0) return []
    const description = groups
      .map(({ name, bars }) => `${name}: ${bars.map((bar) => `${bar.name} ${bar.text}`).join(', ')}`)
      .join('; ')
    const svg = barChart({ title: `${title}, median and spread`, description, xLabel, groups })
    return [{ title, file: `peers-${figure}.svg`, svg }]
  })
}
