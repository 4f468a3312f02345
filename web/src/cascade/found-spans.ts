import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Cascade, MatchingSpans } from '../../../src/query/answer-schemas.ts'
import { askAgainMs, useAnswer } from '../api/use-answer.ts'
import { matches, type SpanRows } from './span-rows.ts'

const ASK_AGAIN_MS = 4_000
/** How long a text has to stay the same before the API is asked. */
const TYPING_MS = 200
const MOST_FOUND = 10_000

/** What a search of the spans found. */
interface FoundSpans {
  /** Positions of spans; undefined if there is no search. */
  readonly spans: readonly number[] | undefined
  /** What the search did not look at, or not yet. */
  readonly lacks: string | undefined
}

/** The spans that contain a text: what is shown of them, and what Causeway finds in all that their senders said. */
export function useFoundSpans(
  cascade: Pick<Cascade, 'root' | 'state'>,
  rows: SpanRows,
  text: string,
): FoundSpans {
  const { root, state } = cascade
  const sought = text.trim().toLowerCase()
  const typed = useSettled(sought)
  const path =
    typed === '' || sought === ''
      ? undefined
      : `/api/v1/cascades/${root}/matches?${new URLSearchParams({ contains: typed, limit: String(MOST_FOUND) }).toString()}`
  const answer = useAnswer<MatchingSpans>(path, () => askAgainMs(state, ASK_AGAIN_MS))
  const isCurrent = typed === sought && !answer.isLoading
  const said = isCurrent ? answer.data : undefined
  const spans = useMemo(() => foundSpans(rows, sought, said), [rows, sought, said])
  return { spans, lacks: sought === '' ? undefined : lackOf(answer.trouble?.message, said) }
}

function foundSpans({ spans }: SpanRows, sought: string, said: MatchingSpans | undefined) {
  if (sought === '') return undefined
  const ids = new Set(said?.spans)
  return spans.flatMap((span, at) => (ids.has(span.spanId) || matches(span, sought) ? [at] : []))
}

function lackOf(trouble: string | undefined, said: MatchingSpans | undefined): string | undefined {
  if (trouble !== undefined) return `Attributes, events and messages could not be searched: ${trouble}`
  if (said === undefined) return 'Searching attributes, events and messages…'
  if (said.truncated)
    return `Only the first ${MOST_FOUND.toLocaleString('en')} matches in attributes, events and messages are shown.`
  return said.partial && `Not all attributes, events and messages were searched: ${said.partial}`
}

/** The value, once it has stayed the same for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
