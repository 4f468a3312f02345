import type { CpidNode } from '../../model/ports/graph-port.ts'
import { GenerationCache } from '../generation-cache.ts'

const NODES = 15_000

/** CPIDs used lately, by number and by UUID; both lookups give the same object. */
export class CpidCache {
  readonly #byId = new GenerationCache<number, CpidNode>(NODES)
  readonly #byCpid = new GenerationCache<string, CpidNode>(NODES)

  byId(id: number): CpidNode | undefined {
    return this.#byId.get(id)
  }

  byCpid(cpid: string): CpidNode | undefined {
    const node = this.#byCpid.get(cpid)
    return node === undefined ? undefined : (this.byId(node.id) ?? this.add(node))
  }

  add(node: CpidNode): CpidNode {
    this.#byId.set(node.id, node)
    this.#byCpid.set(node.cpid, node)
    return node
  }

  drop(id: number, cpid: string): void {
    this.#byId.delete(id)
    this.#byCpid.delete(cpid)
  }

  clear(): void {
    this.#byId.clear()
    this.#byCpid.clear()
  }
}
