import type { EvaluationData } from '../evaluation-data.ts'
import { findingsOf, MAX_ADDED_PERCENT, PAPER } from '../overhead/findings.ts'
import { number, table } from '../../charts/markdown.ts'

const BEGIN = '<!-- evaluation: written by npm run evaluate -->'
const END = '<!-- /evaluation -->'

/** The README with the outcome of the evaluation between its two marks. Throws when they are not there. */
export function withOutcome(readme: string, data: EvaluationData): string {
  const begin = readme.indexOf(BEGIN)
  const end = readme.indexOf(END)
  if (begin < 0 || end < begin) throw new Error(`README.md lacks the marks ${BEGIN} and ${END}`)
  return `${readme.slice(0, begin)}${BEGIN}\n\n${table(rowsOf(data))}\n\n${readme.slice(end)}`
}

function rowsOf({ merges, overhead, replacement }: EvaluationData): string[][] {
  const rows = [['', 'Causeway', 'the paper']]
  for (const { limit, avoidable, percent, paperPercent } of merges?.data.points ?? []) {
    if (paperPercent === undefined || limit === 0) continue
    rows.push([
      `merges with ${limit} ancestors, of those without`,
      `${number(percent, 1)} % (${number(100 * avoidable, 1)} % of the avoidable ones)`,
      `${paperPercent} %`,
    ])
  }
  if (overhead !== undefined) {
    const { addedPercent, addedBetween, isMet } = findingsOf(overhead.data)
    const { mib } = overhead.data.propagation.bridge
    rows.push(
      [
        `propagation time with instrumentation (aim: at most +${MAX_ADDED_PERCENT} %, ${isMet ? 'met' : 'missed'})`,
        `${addedPercent < 0 ? '−' : '+'}${number(Math.abs(addedPercent), 1)} % (95 %: ${number(addedBetween.from, 1)} to ${number(addedBetween.to, 1)} %)`,
        `+${number(100 * (PAPER.tracedSeconds / PAPER.plainSeconds - 1))} % (${PAPER.plainSeconds} → ${PAPER.tracedSeconds} s)`,
      ],
      ['memory of the bridge', `${number(mib)} MiB`, `${PAPER.mib} MiB`],
    )
  }
  const [verdict] = replacement?.data.scenes.at(-1)?.verdicts ?? []
  if (verdict !== undefined) {
    const { misattributedSpans, spans } = verdict.verdict
    rows.push(['spans given to a wrong change', `${number(misattributedSpans)} of ${number(spans)}`, ''])
  }
  return rows
}
