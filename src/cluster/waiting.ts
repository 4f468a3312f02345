import { setTimeout as delay } from 'node:timers/promises'
import { nanosOfMs, type UnixNanos } from '../model/clock.ts'

/** Time and chance, as far as asking an API server needs them; tests give theirs. */
export interface Waiting {
  now(): UnixNanos
  /** Resolves after so long, or as soon as the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** From 0 to 1. */
  random(): number
}

export const MACHINE_WAITING: Waiting = {
  now: () => nanosOfMs(Date.now()),
  sleep: (ms, signal) => delay(ms, undefined, { signal }).catch(() => undefined),
  random: () => Math.random(),
}

const FIRST_MS = 1_000
const LONGEST_MS = 30_000

/** Longer and longer pauses, so that many who lost the same server do not come back at once. */
export class Pauses {
  readonly #waiting: Waiting
  #next = FIRST_MS

  constructor(waiting: Waiting) {
    this.#waiting = waiting
  }

  /** Waits at least so long as asked for, and up to twice as long as what is due. */
  async pause(signal: AbortSignal, atLeastMs = 0): Promise<void> {
    const due = this.#next * (1 + this.#waiting.random())
    this.#next = Math.min(this.#next * 2, LONGEST_MS)
    await this.#waiting.sleep(Math.max(due, atLeastMs), signal)
  }

  /** What was asked for came. */
  over(): void {
    this.#next = FIRST_MS
  }
}

/** A server that several ask and none reaches: once one of them does, none waits any longer, so that all are level again soon. */
export class Outage {
  #ends: AbortController | undefined

  /** Waits as the pauses have it, and no longer than the outage lasts. */
  async wait(pauses: Pauses, signal: AbortSignal): Promise<void> {
    this.#ends ??= new AbortController()
    await pauses.pause(AbortSignal.any([signal, this.#ends.signal]))
  }

  /** The server was reached. */
  over(): void {
    const ends = this.#ends
    this.#ends = undefined
    ends?.abort()
  }
}
