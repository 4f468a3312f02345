import { matches, type SpanRows } from './span-rows.ts'

/** Which spans stand out: those on the critical path, if only they are asked for, in which the text stands. */
export function litSpans({ spans }: SpanRows, text: string, isCriticalOnly: boolean): Uint8Array | undefined {
  const sought = text.trim().toLowerCase()
  if (sought === '' && !isCriticalOnly) return undefined
  return Uint8Array.from(spans, (span) =>
    (!isCriticalOnly || span.critical === true) && (sought === '' || matches(span, sought)) ? 1 : 0,
  )
}
