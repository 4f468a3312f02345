import type { Measured } from '../evaluation-data.ts'
import type { ReplacementData, Scene } from '../replacement/measure.ts'
import { number, table } from '../../charts/markdown.ts'

/** Section 6.2 of the paper. */
export function replacementSection({ data }: Measured<ReplacementData>): string {
  return `## A new CPID or one that stays (section 6.2)

The paper weighs two methods: where changes meet, either a new CPID is made, or one of theirs replaces the others and a
_replacement log_ says so. Each scene below was played once with each method and once with a book that all controllers share
and that says for every piece of work which changes it truly follows from. The runs are the same span by span, so each
method's answer to "what belongs to this change?" can be checked for every span and every change. _Wrong_ are spans given to
a change that they have nothing to do with. No method misses a span.

${data.scenes.map(sceneText).join('\n\n')}

The upper case comes out as the paper says: timestamps help. In the lower case they do not, if the CPID that stays has
already taken in another change. With "what was read first stays" both cases come out right, which is the paper's variant
(b); the control plane shows that it is no way out, because there CPIDs meet that have all taken in others. A new CPID is
never wrong. Replacement has no ancestors here; the figure's drawing is not part of the text that we have, so the cases are
played as the text describes them.`
}

function sceneText({ name, about, verdicts }: Scene): string {
  const [first] = verdicts
  const { spans = 0, pairs = 0 } = first?.verdict ?? {}
  return `**${capitalized(name)}**: ${about}; ${number(spans)} spans that belong to a change ${number(pairs)} times.

${table(
  [
    ['method', 'wrong', 'missed', 'spans with a mistake', 'of all spans'],
    ...verdicts.map(({ method, verdict: { wrong, missed, misattributedSpans, spans: all } }) => [
      method,
      number(wrong),
      number(missed),
      number(misattributedSpans),
      `${number((100 * misattributedSpans) / all)} %`,
    ]),
  ],
  true,
)}`
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
