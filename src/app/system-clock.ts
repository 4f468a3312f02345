import type { Clock } from '../model/clock.ts'

/** The machine's own clocks. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
