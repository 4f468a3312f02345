/** Unix time in nanoseconds. */
export type UnixNanos = bigint

/** The only source of time, which tests control. */
export interface Clock {
  /** Unix time in milliseconds by the system clock; may jump. */
  wallMs(): number
  /** Milliseconds since an arbitrary time of this process; never decreases. */
  monotonicMs(): number
}

export const NANOS_PER_MS = 1_000_000n

/** Converts Unix milliseconds to nanoseconds. */
export const nanosOfMs = (ms: number): UnixNanos => BigInt(Math.trunc(ms)) * NANOS_PER_MS

/** Cancels scheduled work. */
export type Cancel = () => void

/** The only source of timers, which tests control. */
export interface Timers {
  /** Runs work once, after pending I/O events. */
  soon(work: () => void): Cancel
  /** Runs work once, after a delay. */
  after(ms: number, work: () => void): Cancel
  /** Runs work repeatedly. */
  every(ms: number, work: () => void): Cancel
}

/** RFC 3339 in UTC with nanoseconds. The latest time that is stored, 2^63-1, is in the year 2262. */
export function rfc3339(ns: UnixNanos): string {
  const toMs = new Date(Number(ns / NANOS_PER_MS)).toISOString().slice(0, -1)
  return `${toMs}${(ns % NANOS_PER_MS).toString().padStart(6, '0')}Z`
}

/** Nanoseconds as milliseconds with a fraction. */
export function millis(ns: bigint): number {
  return Number(ns) / 1e6
}

const RFC_3339 = /^(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)$/
const MOST = 2n ** 63n - 1n

/** Parses an RFC 3339 time of any precision; undefined if it is invalid or outside the range that is stored. */
export function parseRfc3339(text: string): UnixNanos | undefined {
  const [, seconds, fraction = '', zone = ''] = RFC_3339.exec(text) ?? []
  const ms = Date.parse(`${seconds}${zone}`.toUpperCase())
  if (Number.isNaN(ms) || !isOfItsDay(seconds)) return undefined
  const ns = BigInt(ms) * NANOS_PER_MS + BigInt(fraction.padEnd(9, '0'))
  return ns >= 0n && ns <= MOST ? ns : undefined
}

/** Whether a date is valid: Date.parse accepts 30 February and hour 24 as a later day. */
function isOfItsDay(seconds = ''): boolean {
  return new Date(`${seconds}Z`.toUpperCase()).getUTCDate() === Number(seconds.slice(8, 10))
}

/** Sizes in bytes. */
export const MIB = 2 ** 20
