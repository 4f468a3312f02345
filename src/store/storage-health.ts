import { errorText, type StorageFault, type StorageFaults } from '../model/faults.ts'
import type { FromStore } from './store-messages.ts'

/** How long nothing may fail before the fault is over: a small write may fit where a large one did not. */
const CALM_MS = 2_000

/** The present fault of the database, by the writer's errors. Damage stays; other faults end with a write that works. */
export class StorageHealth {
  readonly #faults: StorageFaults
  readonly #report: (fault: StorageFault | undefined) => void
  #fault: StorageFault | undefined
  readonly #nowMs: () => number
  #failedMs = 0

  /** `nowMs`: a clock that never goes back. */
  constructor(faults: StorageFaults, report: (fault: StorageFault | undefined) => void, nowMs: () => number) {
    this.#faults = faults
    this.#report = report
    this.#nowMs = nowMs
  }

  get fault(): StorageFault | undefined {
    return this.#fault
  }

  /** Nothing more may be written: a write can damage the database further. */
  get isDamaged(): boolean {
    return this.#fault?.kind === 'damaged'
  }

  /** Records an error; returns it as a sentence. */
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

/** Keeps errors from ending the thread. The work is durable or queued, so it is retried. */
export class StorageGuard {
  readonly #health: StorageHealth
  readonly #post: (message: FromStore) => void

  constructor(health: StorageHealth, post: (message: FromStore) => void) {
    this.#health = health
    this.#post = post
  }

  /** Does `work`. False when it failed, which is reported, and when the database is damaged. */
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
