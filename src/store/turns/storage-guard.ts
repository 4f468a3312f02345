import type { FromStore } from '../../threads/thread-messages.ts'
import type { StorageHealth } from '../storage-health.ts'

/** Keeps a fault of the disk from ending the thread: what is to be done is durable or kept, and is tried again. */
export class StorageGuard {
  readonly #health: StorageHealth
  readonly #post: (message: FromStore) => void

  constructor(health: StorageHealth, post: (message: FromStore) => void) {
    this.#health = health
    this.#post = post
  }

  /** Does `work`; false when it failed, which is said, and when the database is damaged, into which nothing is written. */
  run(what: string, work: () => void): boolean {
    if (this.#health.isDamaged) return false
    try {
      work()
      return true
    } catch (error) {
      this.#post({ kind: 'trouble', reason: `${what}: ${this.#health.failed(error)}` })
      return false
    }
  }
}
