import type { LinkedSignal } from '../../../src/model/otlp-requests.ts'
import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import { type Decisions, type ReadDecided, readerOf } from './decisions.ts'
import { check, same } from './faults.ts'

/** One exporter with its backend: what it took, in order, and how far it is known to have come. */
export class Backend {
  readonly name: string
  readonly signal: LinkedSignal
  /** The last that was taken; what is not saved is taken again after a restart. */
  position: number
  /** From here on it has been there. */
  readonly since: number
  readonly #after: ReadDecided

  constructor(name: string, signal: LinkedSignal, db: Sqlite, position: number, since = position) {
    this.name = name
    this.signal = signal
    this.position = position
    this.since = since
    this.#after = readerOf(db, signal)
  }

  /** Takes at most so many decisions: exactly the next ones, as they were made. */
  take(most: number, decisions: Decisions): void {
    const before = this.position
    const items = this.#after(before, most)
    const last = items.length < most ? Infinity : (items.at(-1)?.decision ?? before)
    const expected = decisions.between(this.signal, before, last)
    same(
      items.filter(({ decision }) => !decisions.isExcused(this.signal, decision)),
      expected,
      `${this.signal} exporter ${this.name} does not get what was decided after ${before}`,
    )
    for (const { decision } of items) {
      check(decision > this.position, `decision ${decision} comes out of order`)
      this.position = decision
    }
  }
}
