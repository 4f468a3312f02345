import type {
  Cpid,
  CpidNode,
  ForgottenTombstones,
  GraphEventKind,
  GraphWatcher,
  MergeGraph,
  RankedCpid,
} from '../../../src/model/merge-graph.ts'
import type { Cached } from '../../../src/model/store-ports.ts'
import { nanosOfMs } from '../../../src/model/time-and-size.ts'
import type { MemoryTables } from './memory-tables.ts'

/** The merge graph in maps, every question answered by going through all there is. */
export class MemoryGraph implements MergeGraph, Cached {
  readonly #tables: MemoryTables
  /** One object a CPID, as callers expect who hold two of the same. */
  readonly #nodes = new Map<number, CpidNode>()
  readonly #watchers: GraphWatcher[] = []

  constructor(tables: MemoryTables) {
    this.#tables = tables
  }

  get forgotten(): ForgottenTombstones {
    return this.#tables.forgotten
  }

  forget(): void {
    this.#nodes.clear()
    for (const watcher of this.#watchers) watcher.forget()
  }

  watch(watcher: GraphWatcher): void {
    this.#watchers.push(watcher)
  }

  findOrAdd(cpid: Cpid): CpidNode {
    const known = this.find(cpid)
    if (known !== undefined) return known
    const { wallMs, activeMs } = this.#tables
    const id = ++this.#tables.lastCpid
    const node: CpidNode = {
      id,
      cpid,
      rank: id,
      pruned: false,
      hasMergelog: false,
      explained: false,
      unexplainedSources: 0,
      inDegree: 0,
      roots: undefined,
      missingSinceMs: activeMs,
      nextEpisode: 0,
      claim: undefined,
    }
    this.#tables.cpids.set(id, { node: { ...node }, firstSeenMs: wallMs, pruneNs: nanosOfMs(wallMs) })
    this.#nodes.set(id, node)
    return node
  }

  find(cpid: Cpid): CpidNode | undefined {
    for (const [id, { node }] of this.#tables.cpids) if (node.cpid === cpid) return this.maybeNode(id)
    return undefined
  }

  node(id: number): CpidNode {
    const node = this.maybeNode(id)
    if (node === undefined) throw new Error(`no CPID has the number ${id}`)
    return node
  }

  maybeNode(id: number): CpidNode | undefined {
    const row = this.#tables.cpids.get(id)
    if (row === undefined) return undefined
    const node = this.#nodes.get(id) ?? { ...row.node }
    this.#nodes.set(id, node)
    return node
  }

  save(node: CpidNode): void {
    for (const watcher of this.#watchers) watcher.changed(node.id)
    const row = this.#tables.cpids.get(node.id)
    if (row === undefined) return
    const { rank, claim, missingSinceMs } = row.node
    const roots = node.roots && [...node.roots]
    this.#tables.cpids.set(node.id, { ...row, node: { ...node, roots, rank, claim, missingSinceMs } })
  }

  revive(node: CpidNode): void {
    node.pruned = false
    this.save(node)
    this.#change(node.id, { pruneNs: nanosOfMs(this.#tables.wallMs) })
  }

  sourcesOf(id: number): number[] {
    return this.#edges().flatMap(([source, target]) => (target === id ? [source] : []))
  }

  targetsAfter(id: number, after: number, limit: number): number[] {
    return this.#targetsOf(id)
      .filter((target) => target > after)
      .slice(0, limit)
  }

  rankedSources(id: number, after: number, limit: number): RankedCpid[] {
    return this.#ranked(this.sourcesOf(id), after, limit)
  }

  rankedTargets(id: number, after: number, limit: number): RankedCpid[] {
    return this.#ranked(this.#targetsOf(id), after, limit)
  }

  setRank(id: number, rank: number): void {
    const row = this.#tables.cpids.get(id)
    if (row === undefined) return
    this.#change(id, { node: { ...row.node, rank } })
    this.node(id).rank = rank
  }

  countUnexplained(id: number): number {
    return this.sourcesOf(id).filter((source) => this.#tables.cpids.get(source)?.node.explained === false)
      .length
  }

  postponeExplanation(id: number, after: number): void {
    this.#tables.explainLater.set(id, after)
  }

  isExplanationPostponed(id: number): boolean {
    return this.#tables.explainLater.has(id)
  }

  nextPostponedExplanation(): { id: number; after: number } | undefined {
    const [next] = [...this.#tables.explainLater].sort(([a], [b]) => a - b)
    return next && { id: next[0], after: next[1] }
  }

  forgetPostponedExplanation(id: number): void {
    this.#tables.explainLater.delete(id)
  }

  addEdge(source: number, target: number): void {
    this.#tables.edges.set(`${source} ${target}`, [source, target])
  }

  removeEdgesTo(target: number): void {
    for (const source of this.sourcesOf(target)) this.#tables.edges.delete(`${source} ${target}`)
  }

  claim(node: CpidNode, claim: Buffer): void {
    node.claim = claim
    const row = this.#tables.cpids.get(node.id)
    if (row !== undefined) this.#change(node.id, { node: { ...row.node, claim } })
  }

  storedSources(id: number): Cpid[] | undefined {
    return this.#tables.mergelogs.get(id)?.sources
  }

  announce(id: number, kind: GraphEventKind): number {
    const arrival = ++this.#tables.lastArrival
    this.#tables.events.set(arrival, [id, kind])
    return arrival
  }

  #edges(): (readonly [number, number])[] {
    return [...this.#tables.edges.values()].sort(([a, c], [b, d]) => a - b || c - d)
  }

  #targetsOf(id: number): number[] {
    return this.#edges().flatMap(([source, target]) => (source === id ? [target] : []))
  }

  #ranked(ids: readonly number[], after: number, limit: number): RankedCpid[] {
    return ids
      .filter((id) => id > after && this.#tables.cpids.has(id))
      .slice(0, limit)
      .map((id) => ({ id, rank: this.#tables.cpids.get(id)?.node.rank ?? id }))
  }

  #change(id: number, to: Partial<{ node: CpidNode; pruneNs: bigint }>): void {
    const row = this.#tables.cpids.get(id)
    if (row !== undefined) this.#tables.cpids.set(id, { ...row, ...to })
  }
}
