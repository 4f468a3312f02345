import { compare } from 'bcryptjs'
import { setTimeout as pause } from 'node:timers/promises'

const MOST_WAITING = 16
/** After each check the thread is left to others for so many times as long as it took. */
const REST_FACTOR = 4

/**
 * Checks passwords against bcrypt hashes one at a time and with rests between, because a check is slow by design and the
 * thread has other things to do: guesses cannot take more than a fifth of it.
 */
export class BcryptTurns {
  #waiting = 0
  #last: Promise<void> = Promise.resolve()

  /** Undefined when too many wait already. */
  async check(password: string, hash: string): Promise<boolean | undefined> {
    if (this.#waiting >= MOST_WAITING) return undefined
    this.#waiting++
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.#last = promise
    await before
    const startedMs = performance.now()
    try {
      return await compare(password, hash)
    } finally {
      this.#waiting--
      const restMs = REST_FACTOR * (performance.now() - startedMs)
      void pause(restMs, undefined, { ref: false }).then(() => resolve(undefined))
    }
  }
}
