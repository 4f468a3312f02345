import type { KubeObject } from '../api/kube-objects.ts'

const MOST = 128

/**
 * Objects as they were last, kept until the work that their end causes is done. What happens because an object is gone
 * can be traced only as far as somebody still knows what it said.
 */
export class Tombstones {
  readonly #gone = new Map<string, KubeObject[]>()

  /** Keeps an object that is gone for the work on a key. */
  add(key: string, object: KubeObject): void {
    const gone = this.#gone.get(key)
    if (gone === undefined) this.#gone.set(key, [object])
    else if (gone.push(object) > MOST) gone.shift()
  }

  of(key: string): readonly KubeObject[] {
    return [...(this.#gone.get(key) ?? [])]
  }

  forget(key: string): void {
    this.#gone.delete(key)
  }
}
