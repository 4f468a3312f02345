import { matches, type SpanRows } from './span-rows.ts'
import type { SentTexts } from './sent-texts.ts'

/** The positions of the spans in which a text stands; undefined when none is sought. */
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

/** Which spans stand out: those found, and of these those on the critical path if only they are asked for. */
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
