import { isMet, spreadOf, type Figure, type SectionResult } from './figures.ts'
import type { Machine } from './machine.ts'

const HEADINGS = ['', 'median', 'min', 'max', '', 'target', '']

export function machineText({ node, system, cpu, cores, memoryGib, syncMs, isInMemory }: Machine): string {
  const disk = isInMemory
    ? 'databases in MEMORY, which flatters'
    : `a write reaches the disk in ${syncMs.toFixed(2)} ms`
  return `Node ${node}, ${cores} cores of ${cpu}, ${memoryGib} GiB, ${system}; ${disk}`
}

export function sectionText({ name, about, figures, rounds }: SectionResult): string {
  const rows = Object.entries(figures).flatMap(([key, figure]) => {
    const spread = spreadOf(rounds, key)
    if (spread === undefined) return []
    const met = isMet(figure, spread)
    return [
      [
        figure.label,
        written(spread.median, figure),
        written(spread.min, figure),
        written(spread.max, figure),
        figure.unit,
        targetText(figure),
        met === undefined ? '' : met ? 'met' : 'MISSED',
      ],
    ]
  })
  return `${name}: ${about}; ${rounds.length} rounds\n${table([HEADINGS, ...rows])}`
}

function targetText({ target }: Figure): string {
  if (target === undefined) return ''
  return 'atLeast' in target ? `>= ${plain(target.atLeast)}` : `<= ${plain(target.atMost)}`
}

/** With as many digits as it has. */
export function plain(value: number): string {
  return value.toLocaleString('en-US')
}

function written(value: number, { digits }: Figure): string {
  return grouped(value, digits)
}

/** With so many digits after the point, thousands apart. */
export function grouped(value: number, digits: number): string {
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** The first column to the left and the next `numbers` to the right; what comes after them to the left. */
export function table(rows: readonly (readonly string[])[], numbers = 3): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  )
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 || column > numbers
            ? cell.padEnd(widths[column] ?? 0)
            : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `  ${line}`)
    .join('\n')
}
