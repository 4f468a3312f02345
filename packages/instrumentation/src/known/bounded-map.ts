/** A map that evicts the oldest entries when their total weight exceeds `most`; an entry weighs 1 unless given. */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>()
  readonly #most: number
  readonly #weightOf: (value: Value) => number
  #weight = 0

  constructor(most: number, weightOf: (value: Value) => number = () => 1) {
    this.#most = most
    this.#weightOf = weightOf
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)
  }

  set(key: Key, value: Value): void {
    this.delete(key)
    this.#entries.set(key, value)
    this.#weight += this.#weightOf(value)
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#most) return
      this.delete(oldest)
    }
  }

  delete(key: Key): void {
    const value = this.#entries.get(key)
    if (value === undefined) return
    this.#entries.delete(key)
    this.#weight -= this.#weightOf(value)
  }
}
