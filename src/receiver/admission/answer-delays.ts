const PAUSE_MS = 100
/** More are not held back at a time: each is a request that is open. */
const MOST = 2_048

/** Short pauses before an answer that nobody should hurry for. */
export class AnswerDelays {
  readonly #waiting = new Map<() => void, NodeJS.Timeout>()
  #isOver = false

  /** Resolves after a pause; at once when too many wait already, or when pauses have ended. */
  one(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    if (this.#isOver || this.#waiting.size >= MOST) resolve(undefined)
    else {
      const go = (): void => {
        this.#waiting.delete(go)
        resolve(undefined)
      }
      this.#waiting.set(go, setTimeout(go, PAUSE_MS))
    }
    return promise
  }

  /** Ends every pause, and has none any more. */
  end(): void {
    this.#isOver = true
    for (const [go, timer] of this.#waiting) {
      clearTimeout(timer)
      go()
    }
  }
}
