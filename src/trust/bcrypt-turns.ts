import { setTimeout as pause } from 'node:timers/promises'

const MAX_WAITING = 64
const MAX_WAITING_OF_PEER = 4
/** After each check the thread is left to others for so many times as long as it took. */
const REST_FACTOR = 4

interface Waiting {
  readonly peer: string
  readonly check: () => Promise<boolean>
  /** Undefined when others had to be let in instead. */
  readonly settle: (fits: boolean | undefined) => void
}

/**
 * Has passwords checked one at a time and with rests between, because a check is slow by design and the thread has other
 * things to do: guesses cannot take more than a fifth of it, at however many listeners. Whoever has failed less comes first,
 * so that those who guess do not keep out those who know.
 */
export class BcryptTurns {
  readonly #failures: (peer: string) => number
  readonly #rest: (ms: number) => Promise<unknown>
  readonly #nowMs: () => number
  #waiting: Waiting[] = []
  #isTurning = false

  /** `failures` tells how often a peer has failed of late. */
  constructor(
    failures: (peer: string) => number = () => 0,
    rest: (ms: number) => Promise<unknown> = (ms) => pause(ms, undefined, { ref: false }),
    nowMs: () => number = () => performance.now(),
  ) {
    this.#failures = failures
    this.#rest = rest
    this.#nowMs = nowMs
  }

  /** Whether the password fits; undefined when too many wait already. Rejects never, as long as `check` does not. */
  check(peer: string, check: () => Promise<boolean>): Promise<boolean | undefined> {
    const { promise, resolve } = Promise.withResolvers<boolean | undefined>()
    if (this.#hasPlaceFor(peer)) {
      this.#waiting.push({ peer, check, settle: resolve })
      void this.#turn()
    } else resolve(undefined)
    return promise
  }

  #hasPlaceFor(peer: string): boolean {
    if (this.#waiting.filter((one) => one.peer === peer).length >= MAX_WAITING_OF_PEER) return false
    if (this.#waiting.length < MAX_WAITING) return true
    const last = this.#waiting.reduce((worst, one) =>
      this.#failures(one.peer) >= this.#failures(worst.peer) ? one : worst,
    )
    if (this.#failures(last.peer) <= this.#failures(peer)) return false
    this.#waiting = this.#waiting.filter((one) => one !== last)
    last.settle(undefined)
    return true
  }

  async #turn(): Promise<void> {
    if (this.#isTurning) return
    this.#isTurning = true
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) {
      const startedMs = this.#nowMs()
      next.settle(await next.check().catch(() => false))
      await this.#rest(REST_FACTOR * (this.#nowMs() - startedMs))
    }
    this.#isTurning = false
  }

  #takeNext(): Waiting | undefined {
    const [first] = this.#waiting
    if (first === undefined) return undefined
    const next = this.#waiting.reduce((best, one) =>
      this.#failures(one.peer) < this.#failures(best.peer) ? one : best,
    )
    this.#waiting = this.#waiting.filter((one) => one !== next)
    return next
  }
}
