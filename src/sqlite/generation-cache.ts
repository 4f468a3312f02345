/**
 * A bounded map that forgets what has not been asked for lately: at most two generations of `size` entries each. An
 * entry found in the old generation moves to the young one.
 */
export class GenerationCache<K, V> {
  #young = new Map<K, V>()
  #old = new Map<K, V>()
  readonly #size: number

  constructor(size: number) {
    this.#size = size
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: K, value: V): void {
    if (this.#young.size >= this.#size) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  delete(key: K): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }

  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
  }
}
