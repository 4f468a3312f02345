import type { PruneHold, PruneAttempt } from '../model/ports/prune-port.ts'

/** How long a CPID for which something threw is left alone, in up time. */
const LATER_MS = 3_600_000
/** More are left alone than looked at anew too soon; the oldest are forgotten. */
const MOST = 10_000

/** Keeps what throws for one CPID from stopping a turn of pruning: it is left alone for an hour, and all others go on. */
export class PruneGuard {
  readonly #attempt: PruneAttempt
  readonly #activeMs: () => number
  readonly #until = new Map<number, number>()

  constructor(attempt: PruneAttempt = ATTEMPT_ONLY, activeMs: () => number) {
    this.#attempt = attempt
    this.#activeMs = activeMs
  }

  /** What holds a CPID that is left alone. */
  hold(cpid: number): PruneHold | undefined {
    const at = this.#until.get(cpid)
    return at === undefined || at <= this.#activeMs() ? undefined : { until: 'activeMs', at }
  }

  /** Does what is about one CPID; undefined when that threw, so that nothing of it was done. */
  attempt<T>(cpid: number, does: 'reads' | 'writes', work: () => T): T | undefined {
    let done: T | undefined
    const hasWorked = this.#attempt(cpid, does, () => {
      done = work()
    })
    if (hasWorked) return done
    if (this.#until.size >= MOST) this.#until.delete(this.#until.keys().next().value ?? 0)
    this.#until.set(cpid, this.#activeMs() + LATER_MS)
    return undefined
  }

  forget(): void {
    this.#until.clear()
  }
}

/** Nothing is caught. */
const ATTEMPT_ONLY: PruneAttempt = (_cpid, _does, work) => {
  work()
  return true
}
