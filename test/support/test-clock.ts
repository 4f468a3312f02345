import type { Clock } from '../../src/model/time-and-size.ts'

/** A clock that stands still until it is told to go on. */
export class TestClock implements Clock {
  #wallMs: number
  #monotonicMs = 0

  constructor(wallMs = Date.UTC(2026, 0, 1)) {
    this.#wallMs = wallMs
  }

  wallMs(): number {
    return this.#wallMs
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  advance(ms: number): void {
    this.#wallMs += ms
    this.#monotonicMs += ms
  }

  /** Only the calendar jumps, as when someone sets the machine's clock. */
  setWall(ms: number): void {
    this.#wallMs = ms
  }
}
