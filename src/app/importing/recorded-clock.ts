import { NANOS_PER_MS, type Clock, type UnixNanos } from '../../model/clock.ts'

/** The clock of a recording: it stands still until it is told to go on, and never goes back. */
export class RecordedClock implements Clock {
  #nowMs: number
  readonly #startedMs: number

  constructor(startMs: number) {
    this.#nowMs = startMs
    this.#startedMs = startMs
  }

  wallMs(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startedMs
  }

  goOn(ms: number): void {
    this.#nowMs += ms
  }
}

/** How often a Causeway looks for what is due, while something waits. Recorded time goes on in these steps alone. */
export const LOOK_MS = 50
const LOOK_NS = BigInt(LOOK_MS) * NANOS_PER_MS

/** When a Causeway looks first at what was told at a time, Unix milliseconds. */
export function firstLookMs(ns: UnixNanos): number {
  return Number((ns + LOOK_NS - 1n) / LOOK_NS) * LOOK_MS
}

/** When a Causeway looked last by a time, Unix milliseconds. */
export function lastLookMs(ns: UnixNanos): number {
  return Number(ns / LOOK_NS) * LOOK_MS
}
