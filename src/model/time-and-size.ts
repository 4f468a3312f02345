/** Unix time in nanoseconds. */
export type UnixNanos = bigint

/** The only sources of time; tests turn them by hand. */
export interface Clock {
  /** Unix time in milliseconds, as the machine's calendar has it; may jump. */
  wallMs(): number
  /** Milliseconds since some fixed moment of this process; never goes back. */
  monotonicMs(): number
}

export const NANOS_PER_MS = 1_000_000n

/** Unix nanoseconds of a wall-clock time in milliseconds. */
export const nanosOfMs = (ms: number): UnixNanos => BigInt(Math.trunc(ms)) * NANOS_PER_MS

/** Takes back what was to be done later. */
export type Cancel = () => void

/** The only source of "later"; tests turn it by hand. */
export interface Timers {
  /** Once, when what has come in meanwhile has been heard. */
  soon(work: () => void): Cancel
  /** Once, after so many milliseconds. */
  after(ms: number, work: () => void): Cancel
  /** Again and again. */
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

/** Reads an RFC 3339 time of any precision; undefined when it is none, or none that can be stored. */
export function parseRfc3339(text: string): UnixNanos | undefined {
  const [, seconds, fraction = '', zone = ''] = RFC_3339.exec(text) ?? []
  const ms = Date.parse(`${seconds}${zone}`.toUpperCase())
  if (Number.isNaN(ms) || !isOfItsDay(seconds)) return undefined
  const ns = BigInt(ms) * NANOS_PER_MS + BigInt(fraction.padEnd(9, '0'))
  return ns >= 0n && ns <= MOST ? ns : undefined
}

/** Date.parse takes 30 February, and 24 o'clock, for a later day. */
function isOfItsDay(seconds = ''): boolean {
  return new Date(`${seconds}Z`.toUpperCase()).getUTCDate() === Number(seconds.slice(8, 10))
}

/** In bytes. */
export const MIB = 2 ** 20
