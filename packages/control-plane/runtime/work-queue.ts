import type { Clock } from '../clock.ts'

interface Backoff {
  leastMs: number
  mostMs: number
}

/** What client-go waits before a failed item is tried again: 5 ms, doubling up to 1000 s. */
const BACKOFF: Backoff = { leastMs: 5, mostMs: 1_000_000 }

/**
 * A queue of keys with the rules of client-go's workqueue: a key waits in it only once, is never worked on by two
 * workers at a time, and when it is added while being worked on, it comes again afterwards.
 */
export class WorkQueue {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #backoff: Backoff
  readonly #waiting: string[] = []
  readonly #dirty = new Set<string>()
  readonly #inWork = new Set<string>()
  readonly #failures = new Map<string, number>()
  readonly #dueMs = new Map<string, number>()
  readonly #idle: PromiseWithResolvers<string>[] = []

  constructor(clock: Clock, signal: AbortSignal, backoff = BACKOFF) {
    this.#clock = clock
    this.#signal = signal
    this.#backoff = backoff
    signal.addEventListener('abort', () => {
      for (const taker of this.#idle.splice(0)) taker.reject(signal.reason)
    })
  }

  add(key: string): void {
    if (this.#dirty.has(key)) return
    this.#dirty.add(key)
    if (!this.#inWork.has(key)) this.#offer(key)
  }

  /** Adds a key later; of several times the earliest counts. */
  addAfter(key: string, ms: number): void {
    const dueMs = this.#clock.nowMs() + ms
    if ((this.#dueMs.get(key) ?? Infinity) <= dueMs) return
    this.#dueMs.set(key, dueMs)
    const add = () => {
      if (this.#dueMs.get(key) !== dueMs) return
      this.#dueMs.delete(key)
      this.add(key)
    }
    this.#clock.sleep(ms, this.#signal).then(add, () => undefined)
  }

  /** Adds a key whose work failed, later each time until `forget`. */
  retry(key: string): void {
    const failures = this.#failures.get(key) ?? 0
    this.#failures.set(key, failures + 1)
    this.addAfter(key, Math.min(this.#backoff.leastMs * 2 ** failures, this.#backoff.mostMs))
  }

  forget(key: string): void {
    this.#failures.delete(key)
  }

  /** The next key, as soon as there is one; `done` has to follow. Rejects when the queue is stopped. */
  async take(): Promise<string> {
    this.#signal.throwIfAborted()
    const key = this.#waiting.shift() ?? (await this.#offered())
    this.#dirty.delete(key)
    this.#inWork.add(key)
    return key
  }

  done(key: string): void {
    this.#inWork.delete(key)
    if (this.#dirty.has(key)) this.#offer(key)
  }

  #offer(key: string): void {
    const taker = this.#idle.shift()
    if (taker === undefined) this.#waiting.push(key)
    else taker.resolve(key)
  }

  #offered(): Promise<string> {
    const taker = Promise.withResolvers<string>()
    this.#idle.push(taker)
    return taker.promise
  }
}
