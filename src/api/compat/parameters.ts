const TRACE_ID = /^[0-9a-f]{1,32}$/
const DURATION = /^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/
const UNIT_NANOS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
}

/** A trace id in full; short ones have zeros before them. */
export function traceIdOf(text: string): string | undefined {
  const lower = text.toLowerCase()
  return TRACE_ID.test(lower) ? lower.padStart(32, '0') : undefined
}

/** A number from 1 to `most`; what is none counts as left out. */
export function positiveNumber(text: string | null, otherwise: number, most: number): number {
  const number = text === null || !/^\d{1,9}$/.test(text) ? 0 : Number(text)
  return number === 0 ? otherwise : Math.min(number, most)
}

/** One of Go's durations in nanoseconds; undefined when it is none. */
export function durationNanos(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined
  let total = 0
  for (const [, digits = '', unit = ''] of text.matchAll(/([\d.]+)(ns|us|µs|ms|s|m|h)/g)) {
    total += Number(digits) * (UNIT_NANOS[unit] ?? 0)
  }
  return total
}
