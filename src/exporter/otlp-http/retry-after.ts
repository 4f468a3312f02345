/**
 * Milliseconds that a Retry-After header asks for: whole seconds or an HTTP-date (RFC 9110, section 10.2.3).
 * A date in the past is 0; undefined when the header is absent or unreadable.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d+$/.test(text)) return Number(text) * 1000
  if (!/^[A-Za-z]+, .*GMT$/.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}
