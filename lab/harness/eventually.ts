import { setTimeout as pause } from 'node:timers/promises'

const ASK_AGAIN_MS = 20
const LONGEST_MS = 60_000

/**
 * Asks again until `check` no longer throws, and gives what it gives; the last error once that has taken too long, and the
 * signal's reason when it is aborted before.
 */
export async function eventually<T>(
  check: () => T | Promise<T>,
  longestMs = LONGEST_MS,
  signal?: AbortSignal,
): Promise<T> {
  const deadline = performance.now() + longestMs
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await check()
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
    await pause(ASK_AGAIN_MS)
  }
}
