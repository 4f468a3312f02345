import type { Trace, Traces } from '../../../src/model/linking-ports.ts'
import type { Cached } from '../../../src/model/store-ports.ts'
import type { MemoryTables } from './memory-tables.ts'

/** Outgoing traces in a map; those that were touched are written at the end of a round. */
export class MemoryTraces implements Traces, Cached {
  readonly #tables: MemoryTables
  readonly #live = new Map<number, Trace>()
  readonly #touched = new Set<number>()

  constructor(tables: MemoryTables) {
    this.#tables = tables
  }

  forget(): void {
    this.#live.clear()
    this.#touched.clear()
  }

  flush(): void {
    for (const id of this.#touched) {
      const trace = this.#live.get(id)
      if (trace !== undefined) this.#tables.traces.set(id, { ...trace })
    }
    this.#touched.clear()
  }

  trace(id: number): Trace | undefined {
    const stored = this.#tables.traces.get(id)
    if (stored === undefined) return undefined
    const live = this.#live.get(id) ?? { ...stored }
    this.#live.set(id, live)
    return live
  }

  currentOf(root: number): Trace | undefined {
    return this.ofRoot(root).at(-1)
  }

  ofRoot(root: number): Trace[] {
    return this.#inOrder().filter((trace) => trace.root === root)
  }

  partsOf(cascade: number): Trace[] {
    return this.#inOrder().filter((trace) => trace.cascade === cascade)
  }

  servicesIn(cascade: number): number {
    const parts = new Set(this.partsOf(cascade).map(({ id }) => id))
    const services = [...this.#tables.services].flatMap(([key, trace]) =>
      parts.has(trace) ? [key.slice(key.indexOf(' '))] : [],
    )
    return new Set(services).size
  }

  countMissing({ cascade, root }: Trace): number {
    const parts = new Set(this.partsOf(cascade).flatMap(({ id, root: of }) => (of === root ? [id] : [])))
    const missing = [...this.#tables.changes.values()].flatMap(([cpid, change]) => {
      const node = this.#tables.cpids.get(cpid)?.node
      return parts.has(change.trace) && node && !node.hasMergelog && !node.explained ? [cpid] : []
    })
    return new Set(missing).size
  }

  due(limit: number): Trace[] {
    const stored = [...this.#tables.traces.values()]
    return stored
      .filter(({ open, dueMs }) => open && dueMs <= this.#tables.activeMs)
      .sort((a, b) => a.dueMs - b.dueMs || a.id - b.id)
      .slice(0, limit)
      .flatMap(({ id }) => this.trace(id) ?? [])
  }

  add(trace: Omit<Trace, 'id' | 'cascade'>, continues: Trace | undefined): Trace {
    const id = ++this.#tables.lastTrace
    const added = { ...trace, id, cascade: continues?.cascade ?? id }
    this.#tables.traces.set(id, { ...added })
    this.#live.set(id, added)
    return added
  }

  touch(trace: Trace): void {
    this.#touched.add(trace.id)
  }

  addService(trace: Trace, service: string): boolean {
    const key = `${trace.id} ${service}`
    if (this.#tables.services.has(key)) return false
    this.#tables.services.set(key, trace.id)
    return true
  }

  #inOrder(): Trace[] {
    const ids = [...this.#tables.traces.values()].sort((a, b) => a.episode - b.episode || a.id - b.id)
    return ids.flatMap(({ id }) => this.trace(id) ?? [])
  }
}
