import type { Measured } from '../evaluation-data.ts'
import type { TraceabilityData } from '../traceability-data.ts'
import { number, table } from '../../charts/markdown.ts'

/** Sections 5.2 and 6.3 of the paper. */
export function traceabilitySection({ data }: Measured<TraceabilityData>): string {
  return `## What is traced and what is not (sections 5.2 and 6.3)

Each row is played on the control plane while somebody looks on who knows which write follows from what, version by version.
_Found_: kinds of writes that follow from the change and are found from its CPID; _missed_: that are not found (a kind may
be found once and missed another time); _wrong_: found, but following from other changes alone. Each row is also a test.

${table([
  ['change', 'traced', 'found', 'missed', 'wrong', 'how, and what to do about it', 'the paper'],
  ...data.map(({ change, traced, how, paper, finding }) => [
    change,
    `**${traced}**`,
    number(finding.reached.length),
    countOf(finding.missed),
    countOf(finding.wronglyTied),
    how,
    paper,
  ]),
])}`
}

function countOf(kinds: readonly string[]): string {
  const [first] = kinds
  if (first === undefined) return '0'
  return kinds.length === 1 ? first : `${kinds.length}, such as ${first}`
}
