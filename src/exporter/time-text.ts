import { NANOS_PER_MS, type UnixNanos } from '../model/clock.ts'

/** The last moment a JavaScript date can show. */
const LAST_MS = 8_640_000_000_000_000n

/** RFC 3339 with nanoseconds, UTC; times beyond the calendar as the bare number. */
export function timeText(nanos: UnixNanos): string {
  const ms = nanos / NANOS_PER_MS
  if (ms > LAST_MS) return String(nanos)
  const withMs = new Date(Number(ms)).toISOString().slice(0, -1)
  return `${withMs}${String(nanos % NANOS_PER_MS).padStart(6, '0')}Z`
}
