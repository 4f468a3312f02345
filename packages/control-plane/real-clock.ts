import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from './clock.ts'

/** The time of the machine. */
export const REAL_CLOCK: Clock = {
  nowMs: () => performance.timeOrigin + performance.now(),
  sleep: async (ms, signal) => {
    try {
      await pause(ms, undefined, signal === undefined ? {} : { signal })
    } catch (error) {
      signal?.throwIfAborted()
      throw error
    }
  },
}
