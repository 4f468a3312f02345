import type { Waiting } from './waiting.ts'

const FIRST_MS = 1_000
/** So often in a row is it not believed of what could be seen before: some ten seconds. */
const UNBELIEVED = 3

/**
 * How often in a row something was refused. An API server that has just begun refuses for a moment what it allows, until it knows its
 * rules: so it is asked again soon at first, and later and later as long as it stays with that.
 */
export class Refusals {
  readonly #waiting: Waiting
  readonly #longestMs: number
  #inARow = 0
  #areTold = false

  constructor(waiting: Waiting, longestMs: number) {
    this.#waiting = waiting
    this.#longestMs = longestMs
  }

  /** Counts another one; whether it is meant, and to be told of. */
  areMeant(wasSeenBefore: boolean): boolean {
    this.#inARow++
    this.#areTold ||= !wasSeenBefore || this.#inARow > UNBELIEVED
    return this.#areTold
  }

  /** Until it is to be asked again. */
  async pause(signal: AbortSignal): Promise<void> {
    const due = FIRST_MS * 2 ** (this.#inARow - 1) * (1 + this.#waiting.random())
    await this.#waiting.sleep(Math.min(due, this.#longestMs), signal)
  }

  /** It can be seen; whether it was told that it cannot. */
  over(): boolean {
    const wereTold = this.#areTold
    this.#inARow = 0
    this.#areTold = false
    return wereTold
  }
}
