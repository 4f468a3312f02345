import { LIMITS } from './limits-in-practice.ts'
import { markdownTable } from './markdown-table.ts'

export const LIMITS_DOCS = new URL('../docs/reference/limits.md', import.meta.url)

const HEADINGS = ['Limit', 'Default', 'What happens at it', 'Seen in', 'When to change it']

const INTRODUCTION = `<!-- Written by npm run gen from scripts/limits-in-practice.ts; change it there. -->

# Limits

For whoever runs Causeway and meets a limit, or wants to raise one: what happens at each, which metric shows it, and when to change it.
[configuration.md](configuration.md) has the keys.

_Refused for now_ is \`UNAVAILABLE\` with RetryInfo over gRPC and 503 with \`Retry-After\` over HTTP: the sender keeps the data and retries in one
to two seconds. _Refused for good_ loses what is refused, and tells the sender so. A limit that is _fixed_ has no key.`

/** The text of docs/reference/limits.md. */
export function renderLimitsDocs(): string {
  return [
    INTRODUCTION,
    ...LIMITS.flatMap(({ part, note, rows }) => [`## ${part}`, note, markdownTable(HEADINGS, rows)]),
  ]
    .join('\n\n')
    .concat('\n')
}
