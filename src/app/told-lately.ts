const TOLD_AGAIN_MS = 60_000
const MOST_TOLD = 100

/** The same trouble again and again is one line a minute. */
export class ToldLately {
  readonly #nowMs: () => number
  /** When each was last told of. */
  readonly #told = new Map<string, number>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  isNew(reason: string): boolean {
    const nowMs = this.#nowMs()
    if (nowMs - (this.#told.get(reason) ?? -Infinity) < TOLD_AGAIN_MS) return false
    if (this.#told.size >= MOST_TOLD) this.#told.clear()
    this.#told.set(reason, nowMs)
    return true
  }
}
