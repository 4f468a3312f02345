import type { Changes } from '../../../src/model/inference-store.ts'
import type { Cpid } from '../../../src/model/merge-graph.ts'

/** A merge graph that walks all there is. */
export class MemoryChanges implements Changes {
  readonly #sources = new Map<Cpid, readonly Cpid[]>()

  merge(cpid: Cpid, sources: readonly Cpid[]): void {
    this.#sources.set(cpid, sources)
  }

  newest(cpids: readonly Cpid[]): Cpid[] {
    return cpids.filter((one) => !cpids.some((other) => other !== one && this.#descends(other, one)))
  }

  mayJoin(): boolean {
    return true
  }

  rootsOf(cpid: Cpid): Cpid[] {
    const above = this.#above(cpid)
    return [cpid, ...above].filter((one) => (this.#sources.get(one)?.length ?? 0) === 0).sort()
  }

  #descends(from: Cpid, source: Cpid): boolean {
    return this.#above(from).has(source)
  }

  #above(cpid: Cpid): Set<Cpid> {
    const seen = new Set<Cpid>()
    const todo = [cpid]
    for (let one = todo.pop(); one !== undefined; one = todo.pop()) {
      for (const source of this.#sources.get(one) ?? []) {
        if (seen.has(source)) continue
        seen.add(source)
        todo.push(source)
      }
    }
    return seen
  }
}
