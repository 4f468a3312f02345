import { errorText, type StorageFault, type StorageFaults } from '../model/faults.ts'
import type { FromStore } from './store-messages.ts'

/** A small write may fit where a large one did not: how long nothing must have failed for all to be well. */
const CALM_MS = 2_000

/** How the database is, as the writer finds it. Damage stays; everything else ends with a write that works. */
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

  /** Nothing more may be written: into a damaged database, a write can do further damage. */
  get isDamaged(): boolean {
    return this.#fault?.kind === 'damaged'
  }

  /** Notes what failed; returns it as a sentence. */
  failed(error: unknown): string {
    const fault = this.#faults.of(error)
    if (fault === undefined) return errorText(error)
    this.#failedMs = this.#nowMs()
    if (!this.isDamaged && fault.kind !== this.#fault?.kind) {
      this.#fault = fault
      this.#report(fault)
    }
    return fault.reason
  }

  /** Something was written. */
  worked(): void {
    if (this.#fault === undefined || this.isDamaged) return
    if (this.#nowMs() - this.#failedMs < CALM_MS) return
    this.#fault = undefined
    this.#report(undefined)
  }
}

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
