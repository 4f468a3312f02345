import type { Cancel, Timers } from '../../src/model/time-and-size.ts'
import type { TestClock } from './test-clock.ts'

interface Planned {
  dueMs: number
  everyMs: number | undefined
  work: () => void
}

/** Timers that go off while a test lets time pass, in their order. */
export class TestTimers implements Timers {
  readonly #clock: TestClock
  readonly #soon = new Set<() => void>()
  readonly #planned = new Set<Planned>()

  constructor(clock: TestClock) {
    this.#clock = clock
  }

  soon(work: () => void): Cancel {
    // One that is asked for twice is done twice.
    const once = (): void => work()
    this.#soon.add(once)
    return () => this.#soon.delete(once)
  }

  after(ms: number, work: () => void): Cancel {
    return this.#plan({ dueMs: this.#clock.monotonicMs() + ms, everyMs: undefined, work })
  }

  every(ms: number, work: () => void): Cancel {
    return this.#plan({ dueMs: this.#clock.monotonicMs() + ms, everyMs: ms, work })
  }

  /** How much is still to come. */
  get size(): number {
    return this.#soon.size + this.#planned.size
  }

  /** Does the next thing that is to be done soon. */
  next(): void {
    const [work] = this.#soon
    if (work === undefined) return
    this.#soon.delete(work)
    work()
  }

  /** Lets time pass, and does everything that becomes due. */
  pass(ms: number): void {
    const untilMs = this.#clock.monotonicMs() + ms
    for (;;) {
      while (this.#soon.size > 0) this.next()
      const due = this.#firstUntil(untilMs)
      if (due === undefined) break
      this.#clock.advance(Math.max(0, due.dueMs - this.#clock.monotonicMs()))
      if (due.everyMs === undefined) this.#planned.delete(due)
      else due.dueMs += due.everyMs
      due.work()
    }
    this.#clock.advance(untilMs - this.#clock.monotonicMs())
  }

  #plan(planned: Planned): Cancel {
    this.#planned.add(planned)
    return () => this.#planned.delete(planned)
  }

  #firstUntil(untilMs: number): Planned | undefined {
    const due = [...this.#planned].filter(({ dueMs }) => dueMs <= untilMs)
    return due.sort((a, b) => a.dueMs - b.dueMs)[0]
  }
}
