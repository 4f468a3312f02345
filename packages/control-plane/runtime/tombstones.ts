import type { KubeObject } from '../api/kube-objects.ts'

const MAX_PER_KEY = 128
const MAX_KEYS = 1024

/**
 * Objects as they were last, kept until the work that their end causes is done. What happens because an object is gone
 * can be traced only as far as somebody still knows what it said.
 */
export class Tombstones {
  readonly #gone = new Map<string, readonly KubeObject[]>()

  /** Keeps an object that is gone for the work on a key. */
  add(key: string, object: KubeObject): void {
    this.#gone.set(key, [...this.of(key), object].slice(-MAX_PER_KEY))
    if (this.#gone.size <= MAX_KEYS) return
    for (const [oldest] of this.#gone) {
      this.#gone.delete(oldest)
      return
    }
  }

  of(key: string): readonly KubeObject[] {
    return this.#gone.get(key) ?? []
  }

  /** Forgets those that were seen to; what has ended since then is still to be. */
  forget(key: string, seen = this.of(key)): void {
    const left = this.of(key).filter((object) => !seen.includes(object))
    if (left.length === 0) this.#gone.delete(key)
    else this.#gone.set(key, left)
  }
}
