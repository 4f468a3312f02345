const TOLD_AGAIN_MS = 60_000
const MAX_TOLD = 100

/** The same trouble again and again is one line a minute; different ones are a hundred lines a minute at most. */
export class RecentNotices {
  readonly #nowMs: () => number
  /** When each was last told of, the one that was told first first. */
  readonly #told = new Map<string, number>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  isNew(reason: string): boolean {
    const nowMs = this.#nowMs()
    this.#forget(nowMs - TOLD_AGAIN_MS)
    if (this.#told.has(reason) || this.#told.size >= MAX_TOLD) return false
    this.#told.set(reason, nowMs)
    return true
  }

  #forget(untilMs: number): void {
    for (const [reason, toldMs] of this.#told) {
      if (toldMs > untilMs) return
      this.#told.delete(reason)
    }
  }
}
