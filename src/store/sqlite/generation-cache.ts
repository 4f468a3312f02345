/** The limit of bytes in a generation, and the size of an entry. */
interface Weight<V> {
  readonly most: number
  readonly of: (value: V) => number
}

/**
 * A bounded map that drops entries not used recently. It has at most two generations of `size` entries each; with a weight, a generation is
 * also limited in bytes, and a larger entry has a generation of its own. An entry used in the old generation moves to the young one.
 */
export class GenerationCache<K, V> {
  #young = new Map<K, V>()
  #old = new Map<K, V>()
  readonly #size: number
  readonly #weight: Weight<V> | undefined
  #youngBytes = 0

  constructor(size: number, weight?: Weight<V>) {
    this.#size = size
    this.#weight = weight
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: K, value: V): void {
    const bytes = this.#weight?.of(value) ?? 0
    const isHeavy = this.#weight !== undefined && this.#youngBytes + bytes > this.#weight.most
    if (isHeavy || this.#young.size >= this.#size) {
      this.#old = bytes > (this.#weight?.most ?? 0) ? new Map<K, V>() : this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
    this.#youngBytes += bytes
    this.#young.set(key, value)
  }

  delete(key: K): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
    this.#youngBytes = 0
  }
}
