import type { MergeGraph } from '../model/graph-port.ts'
import { nanosOfMs } from '../model/clock.ts'
import type { PruneCandidate, PruneCounts, PruneStore, Retention } from '../model/prune-port.ts'
import { explain } from './record-mergelog.ts'

const PAGE = 200
const UNATTRIBUTED_STEP = 500
/** How long a repeated request is recognised. Senders give up on a lost reply after minutes. */
const REQUEST_MEMORY_MS = 3_600_000
const TOMBSTONES_WITHOUT_LIMIT = 1_000_000

export interface PruneSettings {
  retention: Retention
  maxFanout: number
}

export interface PruneResult extends PruneCounts {
  /** The budget ran out before the graph was within its limits. */
  more: boolean
}

/**
 * Removes CPIDs until the graph is within its retention limits, and no further (paper, section 3.4.2): only CPIDs that
 * no edge points to, oldest mergelog first, each with those that thereby lose their last incoming edge. At most about
 * `budget` CPIDs go in one call.
 */
export class Pruner {
  readonly #store: PruneStore
  readonly #graph: MergeGraph
  readonly #settings: PruneSettings
  #counts: PruneCounts = noPruneCounts()
  #left = 0

  constructor(store: PruneStore, graph: MergeGraph, settings: PruneSettings) {
    this.#store = store
    this.#graph = graph
    this.#settings = settings
  }

  /** `isAgeKnown`: the calendar may be believed; while it may not, nothing is removed for its age. */
  prune(budget: number, isAgeKnown = true): PruneResult {
    this.#counts = noPruneCounts()
    this.#left = budget
    const { maxCpids } = this.#settings.retention
    if (isAgeKnown) {
      this.#store.removeRequests(this.#store.wallMs - REQUEST_MEMORY_MS)
      this.#byAge()
    }
    this.#byCount()
    this.#byBytes()
    this.#store.removeOldTombstones(maxCpids === 0 ? TOMBSTONES_WITHOUT_LIMIT : maxCpids)
    return { ...this.#counts, more: this.#left <= 0 }
  }

  #byAge(): void {
    const { maxAgeMs } = this.#settings.retention
    if (maxAgeMs === 0) return
    const oldestMs = this.#store.wallMs - maxAgeMs
    for (const candidate of this.#candidates()) {
      if (candidate.timeNs >= nanosOfMs(oldestMs)) break
      if (this.#store.lastActivityMs(candidate.id) < oldestMs) this.#remove(candidate.id, false)
    }
    if (this.#left > 0) {
      const removed = this.#store.removeUnattributed(oldestMs, this.#left * UNATTRIBUTED_STEP, this.#counts)
      this.#left -= Math.ceil(removed / UNATTRIBUTED_STEP)
    }
  }

  #byCount(): void {
    const { maxCpids } = this.#settings.retention
    if (maxCpids === 0) return
    let excess = this.#store.countCpids() - maxCpids
    if (excess <= 0) return
    for (const candidate of this.#candidates()) {
      excess -= this.#remove(candidate.id, false)
      if (excess <= 0) return
    }
  }

  /** First what is settled and sent; only then, when that is not enough, what is not. */
  #byBytes(): void {
    const { maxBytes } = this.#settings.retention
    if (maxBytes === 0) return
    for (const forced of [false, true]) {
      for (const candidate of this.#candidates()) {
        if (!this.#isOverBytes(candidate)) return
        this.#remove(candidate.id, forced)
      }
      while (this.#left > 0 && this.#store.usedBytes() > maxBytes) {
        const removed = this.#store.removeUnattributed(Infinity, UNATTRIBUTED_STEP, this.#counts)
        if (removed === 0) break
        this.#left--
      }
    }
  }

  /** Lets unattributed spans older than the candidate go first. */
  #isOverBytes(candidate: PruneCandidate): boolean {
    const { maxBytes } = this.#settings.retention
    while (this.#left > 0 && this.#store.usedBytes() > maxBytes) {
      const oldest = this.#store.oldestUnattributedNs()
      if (oldest === undefined || oldest >= candidate.timeNs) return true
      if (this.#store.removeUnattributed(Infinity, UNATTRIBUTED_STEP, this.#counts) === 0) return true
      this.#left--
    }
    return false
  }

  *#candidates(): Generator<PruneCandidate> {
    let after: PruneCandidate | undefined
    for (;;) {
      const page = this.#store.candidates(after, PAGE)
      for (const candidate of page) {
        if (this.#left <= 0) return
        yield candidate
      }
      after = page.at(-1)
      if (page.length < PAGE || after === undefined) return
    }
  }

  /** Removes a CPID and those that lose their last incoming edge; returns how many went. */
  #remove(cpid: number, forced: boolean): number {
    const going = goingWith(this.#graph, cpid)
    const held = going.some((id) => this.#store.isHeld(id))
    if (held && !forced) return 0
    if (held) this.#counts.unsettled += going.length
    for (const id of going) this.#removeOne(id)
    this.#left -= going.length
    return going.length
  }

  #removeOne(id: number): void {
    const node = this.#graph.node(id)
    const wasExplained = node.explained
    for (const target of this.#graph.targetsOf(id)) {
      this.#store.removeEdge(id, target)
      const descendant = this.#graph.node(target)
      descendant.inDegree--
      if (!wasExplained) descendant.unexplainedSources--
      this.#graph.save(descendant)
      const ready = descendant.unexplainedSources === 0 && descendant.hasMergelog && !descendant.explained
      if (ready && descendant.inDegree > 0) this.#explain(target)
    }
    this.#store.removeBelongings(id, this.#counts)
    this.#store.bury(id)
    this.#counts.cpids++
  }

  /** A pruned ancestor counts as settled, not as missing. */
  #explain(id: number): void {
    const sources = (this.#graph.storedSources(id) ?? []).flatMap((source) => this.#graph.find(source) ?? [])
    this.#graph.announce(id, 'explained')
    explain(this.#graph, this.#graph.node(id), this.#settings.maxFanout, sources)
  }
}

/** The CPID, then those that lose their last incoming edge with it, sources before what they merged into. */
export function goingWith(graph: MergeGraph, cpid: number): number[] {
  const going = [cpid]
  const left = new Map<number, number>()
  for (let at = 0; at < going.length; at++) {
    for (const target of graph.targetsOf(going[at] ?? cpid)) {
      const incoming = (left.get(target) ?? graph.node(target).inDegree) - 1
      left.set(target, incoming)
      if (incoming === 0) going.push(target)
    }
  }
  return going
}

export function noPruneCounts(): PruneCounts {
  return { cpids: 0, spans: 0, logs: 0, unsettled: 0 }
}
