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
