import { useMemo } from 'preact/hooks'
import { useAnswer } from '../api/use-answer.ts'
import { type KeyValue, type OtlpSpan, type SpansAnswer, valueText } from './otlp-record.ts'

/** A cascade of more spans is searched by what the page has of them alone: their attributes would be too much for it. */
export const MOST_SEARCHED = 5_000

/** By span id, what senders said of it in lower case: attributes, events and the message of its status. */
export type SentTexts = ReadonlyMap<string, string>

/** Reads what was sent of the spans of a cascade, once somebody searches it. */
export function useSentTexts(root: string, isWanted: boolean): SentTexts | undefined {
  const answer = useAnswer<SpansAnswer>(isWanted ? spansPath(root) : undefined)
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
