import { picture, table } from '../../charts/markdown.ts'
import type { KeptSection } from './benchmark-data.ts'
import { figureTable } from './figure-rows.ts'
import { measuredText } from './measured-text.ts'
import { SECTION_TEXTS } from './section-texts.ts'

/** Any section: what it measures, its figures, its curves. */
export function sectionPart(kept: KeptSection): string {
  const { name, about, rounds, curves = [] } = kept.section
  return [
    `## ${name}`,
    SECTION_TEXTS[name],
    `${capital(about)}; ${rounds.length} round${rounds.length === 1 ? '' : 's'}. ${measuredText(kept)}`,
    table(figureTable(kept.section), 3),
    ...curves.map(({ title }, at) => picture(title, `benchmarks/${curveFile(name, at)}`)),
  ]
    .filter((part) => part !== undefined)
    .join('\n\n')
}

/** The file with a section's curve of that number. */
export function curveFile(section: string, at: number): string {
  return `${section}-${at + 1}.svg`
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
