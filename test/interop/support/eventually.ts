import { setTimeout as pause } from 'node:timers/promises'

export interface Patience {
  /** How long to go on asking. */
  withinMs: number
  /** Ends it before that. */
  signal?: AbortSignal
}

const ASK_AGAIN_MS = 50

/** Asks until `probe` returns without throwing, and returns that; past the deadline it throws what `probe` threw last. */
export async function eventually<T>(probe: () => Promise<T> | T, { withinMs, signal }: Patience): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await probe()
    } catch (error) {
      if (performance.now() >= deadline) throw error
    }
    await pause(ASK_AGAIN_MS)
  }
}
