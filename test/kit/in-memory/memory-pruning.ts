import type { CpidToPrune, PruneCandidate } from '../../../src/model/store-ports.ts'
import { nanosOfMs } from '../../../src/model/time-and-size.ts'
import type { GraphPruning } from '../opened.ts'
import type { MemoryGraph } from './memory-graph.ts'
import type { CpidRow, MemoryTables } from './memory-tables.ts'

const MARKED = -1n
const MARKED_BY_FORCE = -2n

/** Which CPIDs go first, and what is left of those that went. */
export class MemoryPruning implements GraphPruning {
  readonly #tables: MemoryTables
  readonly #graph: MemoryGraph
  #looked = 0

  constructor(tables: MemoryTables, graph: MemoryGraph) {
    this.#tables = tables
    this.#graph = graph
  }

  countCpids(): number {
    return this.#rows().filter(({ node }) => !node.pruned).length
  }

  candidates(
    after: PruneCandidate | undefined,
    before: PruneCandidate | undefined,
    limit: number,
  ): PruneCandidate[] {
    return this.#places()
      .filter((place) => place.timeNs >= 0n)
      .filter((place) => after === undefined || compare(place, after) > 0)
      .filter((place) => before === undefined || compare(place, before) < 0)
      .slice(0, limit)
  }

  mergedAfter(arrival: number, limit: number): { arrival: number; place: PruneCandidate }[] {
    return [...this.#tables.mergelogs]
      .filter(([, mergelog]) => mergelog.arrival > arrival)
      .sort(([, a], [, b]) => a.arrival - b.arrival)
      .slice(0, limit)
      .map(([id, mergelog]) => ({ arrival: mergelog.arrival, place: this.#placeOf(id) }))
  }

  markForRemoval(cpid: number, forced: boolean): void {
    this.#put(cpid, forced ? MARKED_BY_FORCE : MARKED)
  }

  markedForRemoval(limit: number): CpidToPrune[] {
    return this.#places()
      .filter(({ timeNs }) => timeNs < 0n)
      .slice(0, limit)
      .map(({ id, timeNs }) => ({ id, forced: timeNs === MARKED_BY_FORCE }))
  }

  unmark(cpid: number): PruneCandidate {
    const mergelog = this.#tables.mergelogs.get(cpid)
    const seenNs = nanosOfMs(this.#tables.cpids.get(cpid)?.firstSeenMs ?? 0)
    const arrivedNs = nanosOfMs(mergelog?.arrivedMs ?? 0)
    const saidNs = mergelog && (mergelog.timeNs < arrivedNs ? mergelog.timeNs : arrivedNs)
    this.#put(cpid, saidNs ?? seenNs)
    return this.#placeOf(cpid)
  }

  removeEdge(source: number, target: number): void {
    this.#tables.edges.delete(`${source} ${target}`)
  }

  leaveTombstone(cpid: number): void {
    const { wallMs, forgotten } = this.#tables
    const firstSeenMs = this.#tables.cpids.get(cpid)?.firstSeenMs ?? 0
    const madeMs = Number((this.#tables.mergelogs.get(cpid)?.timeNs ?? 0n) / 1_000_000n) + 1
    const untilMs = Math.max(forgotten.untilMs, firstSeenMs, Math.min(madeMs, wallMs))
    this.#tables.forgotten = { ...forgotten, untilMs }
    this.#tables.mergelogs.delete(cpid)
    this.#tables.tellers.delete(cpid)
    const node = this.#graph.node(cpid)
    const nextEpisode = Math.max(node.nextEpisode, 1)
    Object.assign(node, { pruned: true, hasMergelog: false, explained: true, unexplainedSources: 0 })
    Object.assign(node, { inDegree: 0, roots: [cpid], nextEpisode })
    this.#graph.save(node)
  }

  removeOldTombstones(keep: number, limit: number): number {
    const tombstones = this.#rows().filter(({ node }) => node.pruned)
    let excess = tombstones.length - keep
    if (excess <= 0) {
      this.#looked = 0
      return 0
    }
    const page = tombstones.filter(({ node }) => node.id > this.#looked).slice(0, limit)
    for (const { node } of page) {
      if (excess <= 0) break
      if ([...this.#tables.traces.values()].some(({ root }) => root === node.id)) continue
      this.#tables.cpids.delete(node.id)
      const { forgotten } = this.#tables
      const nextEpisode = Math.max(forgotten.nextEpisode, node.nextEpisode)
      this.#tables.forgotten = { ...forgotten, nextEpisode }
      excess--
    }
    this.#looked = page.at(-1)?.node.id ?? 0
    return page.length
  }

  #rows(): CpidRow[] {
    return [...this.#tables.cpids.values()].sort((a, b) => a.node.id - b.node.id)
  }

  #places(): PruneCandidate[] {
    return this.#rows()
      .filter(({ node }) => !node.pruned && node.inDegree === 0)
      .map(({ node }) => this.#placeOf(node.id))
      .sort(compare)
  }

  #placeOf(id: number): PruneCandidate {
    const row = this.#tables.cpids.get(id)
    if (row === undefined) throw new Error(`no CPID has the number ${id}`)
    return { id, timeNs: row.pruneNs }
  }

  #put(id: number, pruneNs: bigint): void {
    const row = this.#tables.cpids.get(id)
    if (row !== undefined) this.#tables.cpids.set(id, { ...row, pruneNs })
  }
}

function compare(a: PruneCandidate, b: PruneCandidate): number {
  return a.timeNs === b.timeNs ? a.id - b.id : a.timeNs < b.timeNs ? -1 : 1
}
