import { isMet, spreadOf, type Figure, type SectionResult, type Spread } from '../measure/figures.ts'
import { grouped, plain } from '../measure/report.ts'

interface FigureRow {
  figure: Figure
  spread: Spread
  /** Undefined where there is no target. */
  isMet: boolean | undefined
}

/** The figures of a section that were measured. */
export function figureRows({ figures, rounds }: SectionResult): FigureRow[] {
  return Object.entries(figures).flatMap(([key, figure]) => {
    const spread = spreadOf(rounds, key)
    return spread === undefined ? [] : [{ figure, spread, isMet: isMet(figure, spread) }]
  })
}

/** A table, the first row its heading. */
export function figureTable(section: SectionResult): string[][] {
  return [
    ['', 'median', 'min', 'max', 'unit', 'target', ''],
    ...figureRows(section).map(({ figure, spread, isMet }) => [
      labelText(figure),
      grouped(spread.median, figure.digits),
      grouped(spread.min, figure.digits),
      grouped(spread.max, figure.digits),
      figure.unit,
      targetText(figure),
      outcome(isMet),
    ]),
  ]
}

/** A label that continues the one above it begins with a space. */
export function labelText({ label }: Figure): string {
  return label.startsWith(' ') ? `… ${label.trim()}` : label
}

export function targetText({ target }: Figure): string {
  if (target === undefined) return ''
  return 'atLeast' in target ? `at least ${plain(target.atLeast)}` : `at most ${plain(target.atMost)}`
}

export function outcome(isMet: boolean | undefined): string {
  if (isMet === undefined) return ''
  return isMet ? 'met' : '**missed**'
}
