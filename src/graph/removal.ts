import type { CpidNode, MergeGraph } from '../model/ports/graph-port.ts'
import type { PruneCandidate, PruneCounts, PruneStore } from '../model/ports/prune-port.ts'
import type { PruneGuard } from './prune-guard.ts'
import { CPID_COST, LOOK_COST, type PruneWork } from './prune-work.ts'
import { explain } from './explain.ts'

const PAGE = 50
/** Rows removed before the clock is looked at. */
const ROWS_AT_ONCE = 500

interface RemovalParts {
  readonly store: PruneStore
  readonly graph: MergeGraph
  readonly guard: PruneGuard
  readonly maxFanout: number
  /** Hears of those that stay after all. */
  readonly spared: (place: PruneCandidate) => void
}

/**
 * Removes CPIDs that were condemned, and condemns those that thereby lose their last incoming edge. A cascade that is too
 * large for one turn goes in many; at every moment only CPIDs without incoming edges have gone.
 */
export class Removal {
  readonly #store: PruneStore
  readonly #graph: MergeGraph
  readonly #guard: PruneGuard
  readonly #maxFanout: number
  readonly #spared: (place: PruneCandidate) => void

  constructor({ store, graph, guard, maxFanout, spared }: RemovalParts) {
    this.#store = store
    this.#graph = graph
    this.#guard = guard
    this.#maxFanout = maxFanout
    this.#spared = spared
  }

  /** Goes on until nothing is condemned or the turn is up; what holds those in `free` was looked at in this turn. */
  goOn(work: PruneWork, counts: PruneCounts, free: ReadonlySet<number> = new Set()): void {
    for (;;) {
      const condemned = this.#store.condemned(PAGE)
      for (const { id, forced } of condemned) {
        if (work.isUp) return
        const before = { ...counts }
        const isDone = this.#guard.attempt(id, 'writes', () => {
          const hold = forced || free.has(id) ? undefined : this.#store.hold(id)
          work.spend(LOOK_COST)
          if (hold === undefined) return this.#remove(id, forced, work, counts)
          this.#spare(id)
          return true
        })
        if (isDone === undefined) {
          Object.assign(counts, before)
          this.#spared(this.#store.spare(id))
        } else if (!isDone) return
      }
      if (condemned.length === 0 || work.isUp) return
    }
  }

  /** False when the turn is up before all of it is gone. */
  #remove(id: number, forced: boolean, work: PruneWork, counts: PruneCounts): boolean {
    for (;;) {
      const { rows, outcome } = this.#store.removeSome(id, ROWS_AT_ONCE, forced, counts)
      work.remove(rows)
      if (outcome === 'gone') break
      if (outcome !== 'more') {
        this.#spare(id)
        return true
      }
      if (work.isUp) return false
    }
    while (this.#removeEdges(id, forced, work)) if (work.isUp) return false
    this.#store.bury(id)
    work.remove(CPID_COST)
    counts.cpids++
    if (forced) counts.unsettled++
    return true
  }

  /** Removes a page of the edges that leave the CPID; true when there may be more. */
  #removeEdges(id: number, forced: boolean, work: PruneWork): boolean {
    const wasExplained = this.#graph.node(id).explained
    const isTold = wasExplained && !this.#graph.isExplainedLater(id)
    const targets = this.#graph.targetsAfter(id, 0, ROWS_AT_ONCE)
    for (const target of targets) {
      this.#store.removeEdge(id, target)
      const descendant = this.#graph.node(target)
      descendant.inDegree--
      if (!wasExplained) descendant.unexplainedSources--
      else if (!isTold) descendant.unexplainedSources = this.#graph.countUnexplained(target)
      this.#graph.save(descendant)
      if (descendant.inDegree === 0) this.#store.condemn(target, forced)
      else this.#explainIfReady(descendant)
    }
    work.remove(targets.length * 2)
    return targets.length === ROWS_AT_ONCE
  }

  #spare(id: number): void {
    this.#spared(this.#store.spare(id))
    this.#explainIfReady(this.#graph.node(id))
  }

  /** A pruned ancestor counts as settled, not as missing. */
  #explainIfReady(node: CpidNode): void {
    if (node.unexplainedSources > 0 || !node.hasMergelog || node.explained) return
    const sources = (this.#graph.storedSources(node.id) ?? []).flatMap(
      (source) => this.#graph.find(source) ?? [],
    )
    this.#graph.announce(node.id, 'explained')
    explain(this.#graph, node, this.#maxFanout, sources)
  }
}
