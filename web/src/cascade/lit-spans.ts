import { matches, type SpanRows } from './span-rows.ts'
import type { SentTexts } from './sent-texts.ts'

/** The positions of the spans that contain a text; undefined if there is no search. */
export function foundSpans(
  { spans }: SpanRows,
  text: string,
  sent: SentTexts | undefined,
): readonly number[] | undefined {
  const sought = text.trim().toLowerCase()
  if (sought === '') return undefined
  return spans.flatMap((span, at) =>
    matches(span, sought) || sent?.get(span.spanId)?.includes(sought) === true ? [at] : [],
  )
}

/** The highlighted spans: those found, restricted to the critical path if requested. */
export function litSpans(
  { spans }: SpanRows,
  found: readonly number[] | undefined,
  isCriticalOnly: boolean,
): Uint8Array | undefined {
  if (found === undefined && !isCriticalOnly) return undefined
  const lit = new Uint8Array(spans.length)
  for (const at of found ?? spans.keys()) if (!isCriticalOnly || spans[at]?.critical === true) lit[at] = 1
  return lit
}
