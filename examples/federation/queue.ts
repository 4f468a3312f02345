const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 10_000

/** Keys to be reconciled, one at a time, each once however often it was added; what fails is tried again, later and later. */
export class WorkQueue<Key extends string> {
  readonly #keys = new Set<Key>()
  readonly #failures = new Map<Key, number>()
  readonly #reconcile: (key: Key) => Promise<void>
  #isWorking = false

  constructor(reconcile: (key: Key) => Promise<void>) {
    this.#reconcile = reconcile
  }

  add(key: Key): void {
    this.#keys.add(key)
    void this.#work()
  }

  async #work(): Promise<void> {
    if (this.#isWorking) return
    this.#isWorking = true
    for (const key of this.#keys) {
      this.#keys.delete(key)
      try {
        await this.#reconcile(key)
        this.#failures.delete(key)
      } catch (error) {
        this.#tryLater(key, error)
      }
    }
    this.#isWorking = false
  }

  #tryLater(key: Key, error: unknown): void {
    const failures = (this.#failures.get(key) ?? 0) + 1
    this.#failures.set(key, failures)
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS)
    console.error(`${key} failed ${failures} times, next in ${waitMs} ms: ${String(error).split('\n')[0]}`)
    setTimeout(() => this.add(key), waitMs)
  }
}
