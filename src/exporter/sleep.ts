import { setTimeout as wait } from 'node:timers/promises'

/** Resolves after `ms` milliseconds, or at once when the signal aborts; never rejects. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

export const sleep: Sleep = async (ms, signal) => {
  try {
    await wait(ms, undefined, { signal })
  } catch {
    // Only the abort can end it early.
  }
}
