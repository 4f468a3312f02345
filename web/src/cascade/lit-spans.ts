import type { SpanRows } from './span-rows.ts'

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
