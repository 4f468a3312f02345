import { table } from '../../charts/markdown.ts'
import type { SectionResult } from '../measure/figures.ts'
import { grouped } from '../measure/report.ts'
import type { BenchmarkData } from './benchmark-data.ts'
import { figureRows, labelText, outcome, targetText } from './figure-rows.ts'

/** Every figure that has a target. */
export function targetsPart({ sections, peers }: BenchmarkData): string {
  const all: SectionResult[] = [
    ...(peers === undefined ? [] : [{ ...peers.peers.ratios, name: 'peers' }]),
    ...sections.map(({ section }) => section),
  ]
  const rows = all.flatMap((section) =>
    figureRows(section)
      .filter(({ isMet }) => isMet !== undefined)
      .map((row) => ({ ...row, name: section.name })),
  )
  if (rows.length === 0) return 'Nothing that has a target was measured.'
  const met = rows.filter(({ isMet }) => isMet).length
  const words = met === rows.length ? 'All are met' : `${met} of ${rows.length} are met`
  return `Figures with a target, medians over the rounds. ${words}.

${table([
  ['section', 'figure', 'median (min to max)', 'unit', 'target', ''],
  ...rows.map(({ name, figure, spread: { median, min, max }, isMet }) => [
    name,
    labelText(figure),
    `${grouped(median, figure.digits)} (${grouped(min, figure.digits)} to ${grouped(max, figure.digits)})`,
    figure.unit,
    targetText(figure),
    outcome(isMet),
  ]),
])}`
}
