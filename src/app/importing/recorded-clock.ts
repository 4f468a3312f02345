import { NANOS_PER_MS, type Clock, type UnixNanos } from '../../model/clock.ts'

/** The clock of a recording: it stands still until it is told to go on, and never goes back. */
export class RecordedClock implements Clock {
  #nowMs: number
  readonly #startedMs: number

  constructor(startNs: UnixNanos) {
    this.#nowMs = Number(startNs / NANOS_PER_MS)
    this.#startedMs = this.#nowMs
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
