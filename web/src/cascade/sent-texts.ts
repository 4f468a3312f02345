import { useMemo } from 'preact/hooks'
import type { Cascade } from '../../../src/query/answer-schemas.ts'
import { askAgainMs, useAnswer } from '../api/use-answer.ts'
import { type KeyValue, type OtlpSpan, type SpansAnswer, valueText } from './otlp-record.ts'

/** A larger cascade is searched only by what the page already has. The attributes of all its spans would be too much data. */
export const MOST_SEARCHED = 5_000

/** By span id, the text that senders gave it, in lower case: attributes, events and the status message. */
export type SentTexts = ReadonlyMap<string, string>

const ASK_AGAIN_MS = 4_000

/** Loads the sent spans of a cascade when a search begins, and again as it may grow. */
export function useSentTexts(
  { root, state }: Pick<Cascade, 'root' | 'state'>,
  isWanted: boolean,
): SentTexts | undefined {
  const answer = useAnswer<SpansAnswer>(isWanted ? spansPath(root) : undefined, () =>
    askAgainMs(state, ASK_AGAIN_MS),
  )
  return useMemo(() => answer.data && sentTexts(answer.data), [answer.data])
}

/** The spans of a cascade as they were received, in OTLP/JSON. */
export function spansPath(root: string): string {
  return `/api/v1/cpids/${root}/spans`
}

export function sentTexts({ resourceSpans = [] }: SpansAnswer): SentTexts {
  const texts = new Map<string, string>()
  for (const { scopeSpans = [] } of resourceSpans) {
    for (const { spans = [] } of scopeSpans) {
      for (const span of spans) if (span.spanId !== undefined) texts.set(span.spanId, textOf(span))
    }
  }
  return texts
}

function textOf({ attributes = [], events = [], status }: OtlpSpan): string {
  return [
    status?.message ?? '',
    ...attributes.map(pairText),
    ...events.flatMap(({ name = '', attributes: told = [] }) => [name, ...told.map(pairText)]),
  ]
    .join('\n')
    .toLowerCase()
}

const pairText = ({ key, value }: KeyValue): string => `${key}=${valueText(value)}`
