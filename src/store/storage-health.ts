import { errorText, type StorageFault, type StorageFaults } from '../model/faults.ts'
import type { FromStore } from './store-messages.ts'

/** A fault is over when a write succeeds and nothing has failed for this long: a small write may succeed where a large one does not. */
const CALM_MS = 2_000

/** Tracks the fault of the database from the writer's errors. Damage is permanent; other faults end when a write succeeds. */
export class StorageHealth {
  readonly #faults: StorageFaults
  readonly #report: (fault: StorageFault | undefined) => void
  #fault: StorageFault | undefined
  readonly #nowMs: () => number
  #failedMs = 0

  /** `nowMs`: a monotonic clock. */
  constructor(faults: StorageFaults, report: (fault: StorageFault | undefined) => void, nowMs: () => number) {
    this.#faults = faults
    this.#report = report
    this.#nowMs = nowMs
  }

  get fault(): StorageFault | undefined {
    return this.#fault
  }

  /** Whether writing has to stop, since it might damage the database further. */
  get isDamaged(): boolean {
    return this.#fault?.kind === 'damaged'
  }

  /** Records an error. Returns it as a sentence. */
  noteFailure(error: unknown): string {
    const fault = this.#faults.of(error)
    if (fault === undefined) return errorText(error)
    this.#failedMs = this.#nowMs()
    if (!this.isDamaged && fault.kind !== this.#fault?.kind) {
      this.#fault = fault
      this.#report(fault)
    }
    return fault.reason
  }

  /** Records that a write worked. */
  noteSuccess(): void {
    if (this.#fault === undefined || this.isDamaged) return
    if (this.#nowMs() - this.#failedMs < CALM_MS) return
    this.#fault = undefined
    this.#report(undefined)
  }
}

/** Catches errors, so that they do not end the thread. The work is durable or queued, and is retried. */
export class StorageGuard {
  readonly #health: StorageHealth
  readonly #post: (message: FromStore) => void

  constructor(health: StorageHealth, post: (message: FromStore) => void) {
    this.#health = health
    this.#post = post
  }

  /** Runs `work`. Returns false if it failed, which is reported, or if the database is damaged. */
  run(what: string, work: () => void): boolean {
    if (this.#health.isDamaged) return false
    try {
      work()
      return true
    } catch (error) {
      this.#post({ kind: 'trouble', reason: `${what}: ${this.#health.noteFailure(error)}` })
      return false
    }
  }
}
