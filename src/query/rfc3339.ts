import { NANOS_PER_MS, type UnixNanos } from '../model/clock.ts'

/** RFC 3339 in UTC with nanoseconds. The latest time that is stored, 2^63-1, is in the year 2262. */
export function rfc3339(ns: UnixNanos): string {
  const toMs = new Date(Number(ns / NANOS_PER_MS)).toISOString().slice(0, -1)
  return `${toMs}${(ns % NANOS_PER_MS).toString().padStart(6, '0')}Z`
}

/** Nanoseconds as milliseconds with a fraction. */
export function millis(ns: bigint): number {
  return Number(ns) / 1e6
}
