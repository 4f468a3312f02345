/** Passes on what comes numbered, in the order of the numbers: what comes early is held back. */
export class InOrder<T> {
  readonly #early = new Map<number, T>()
  readonly #take: (one: T) => void
  #last: number

  /** @param last the number before the first */
  constructor(last: number, take: (one: T) => void) {
    this.#last = last
    this.#take = take
  }

  add(number: number, one: T): void {
    this.#early.set(number, one)
    for (
      let next = this.#early.get(this.#last + 1);
      next !== undefined;
      next = this.#early.get(this.#last + 1)
    ) {
      this.#early.delete(++this.#last)
      this.#take(next)
    }
  }

  /** Passes on what is still held back, for want of a number before it. */
  flush(): void {
    for (const [, one] of [...this.#early].sort(([a], [b]) => a - b)) this.#take(one)
    this.#early.clear()
  }
}
