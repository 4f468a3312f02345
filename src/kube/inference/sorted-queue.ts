/** Items sorted by a number that each of them has. Most arrive with a higher number than those before. */
export class SortedQueue<T> {
  readonly #rank: (one: T) => bigint
  #items: T[] = []
  /** Items before this index have been removed. */
  #head = 0

  /** `items` must be sorted. */
  constructor(rank: (one: T) => bigint, items: readonly T[] = []) {
    this.#rank = rank
    this.#items = [...items]
  }

  /** All items, sorted. */
  get items(): readonly T[] {
    return this.#items.slice(this.#head)
  }

  get first(): T | undefined {
    return this.#items[this.#head]
  }

  /** Up to `most` items after the first. */
  behind(most: number): readonly T[] {
    return this.#items.slice(this.#head + 1, this.#head + 1 + most)
  }

  /** Inserts the item after all items whose number is not higher. Returns the first item with a higher number. */
  add(one: T): T | undefined {
    const at = this.#after(this.#rank(one))
    const next = this.#items[at]
    this.#items.splice(at, 0, one)
    return next
  }

  shift(): T | undefined {
    const first = this.first
    if (first === undefined) return undefined
    this.#head++
    if (this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return first
  }

  remove(one: T): void {
    if (this.first === one) this.shift()
    else {
      const at = this.#items.indexOf(one, this.#head)
      if (at >= 0) this.#items.splice(at, 1)
    }
  }

  #after(rank: bigint): number {
    let [low, high] = [this.#head, this.#items.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      const item = this.#items[middle]
      if (item !== undefined && this.#rank(item) <= rank) low = middle + 1
      else high = middle
    }
    return low
  }
}
