import type { CpidNode, MergeGraph } from '../model/merge-graph.ts'
import type {
  PruneAttempt,
  PruneCandidate,
  PruneCounts,
  PruneHold,
  PruneStore,
} from '../model/store-ports.ts'
import { explain } from './record-mergelog.ts'

const PAGE = 50
/** Rows removed between two checks of the time. */
const ROWS_AT_ONCE = 200
const EDGES_A_PAGE = 100
/** About how many CPIDs are explained between two checks of the time. */
const EXPLAINED_AT_ONCE = 50

interface RemovalParts {
  readonly store: PruneStore
  readonly graph: MergeGraph
  readonly guard: PruneGuard
  readonly maxFanout: number
  /** Called with the place of each CPID that was marked for removal and is kept after all. */
  readonly onUnmarked: (place: PruneCandidate) => void
}

/**
 * Removes CPIDs that are marked for removal, and marks those that lose their last incoming edge by that. A cascade that is too large for
 * one turn is removed in several. No CPID is removed while an edge points to it.
 */
export class Removal {
  readonly #store: PruneStore
  readonly #graph: MergeGraph
  readonly #guard: PruneGuard
  readonly #maxFanout: number
  readonly #onUnmarked: (place: PruneCandidate) => void

  constructor({ store, graph, guard, maxFanout, onUnmarked }: RemovalParts) {
    this.#store = store
    this.#graph = graph
    this.#guard = guard
    this.#maxFanout = maxFanout
    this.#onUnmarked = onUnmarked
  }

  /** Goes on until nothing is marked or the turn is up. Whether something holds the CPIDs in `free` was checked in this turn. */
  goOn(work: PruneWork, counts: PruneCounts, free: ReadonlySet<number> = new Set()): void {
    for (;;) {
      const marked = this.#store.markedForRemoval(PAGE)
      for (const { id, forced } of marked) {
        if (work.isUp) return
        const before = { ...counts }
        const isDone = this.#guard.attempt(id, 'writes', () => {
          const hold = forced || free.has(id) ? undefined : this.#store.hold(id)
          work.spend(LOOK_COST)
          if (hold === undefined) return this.#remove(id, forced, work, counts)
          this.#unmark(id, work)
          return true
        })
        if (isDone === undefined) {
          Object.assign(counts, before)
          this.#onUnmarked(this.#store.unmark(id))
        } else if (!isDone) return
      }
      if (marked.length === 0 || work.isUp) return
    }
  }

  /** Removes a CPID with its rows; false when the turn ends before that. Each turn does at least one step. */
  #remove(id: number, forced: boolean, work: PruneWork, counts: PruneCounts): boolean {
    for (;;) {
      const { rows, outcome } = this.#store.removeSome(id, ROWS_AT_ONCE, forced, counts)
      work.remove(rows)
      if (outcome !== 'more' && outcome !== 'gone') {
        this.#unmark(id, work)
        return true
      }
      if (rows > 0 && work.isUp) return false
      if (outcome === 'gone') break
    }
    if (!this.#removeEdges(id, forced, work)) return false
    this.#store.leaveTombstone(id)
    work.remove(CPID_COST)
    counts.cpids++
    if (forced) counts.unsettled++
    return true
  }

  /** Removes the edges that leave the CPID; false when the turn ends after one of them. */
  #removeEdges(id: number, forced: boolean, work: PruneWork): boolean {
    const wasExplained = this.#graph.node(id).explained
    const isTold = wasExplained && !this.#graph.isExplanationPostponed(id)
    for (let targets: number[]; (targets = this.#graph.targetsAfter(id, 0, EDGES_A_PAGE)).length > 0;) {
      for (const target of targets) {
        this.#store.removeEdge(id, target)
        const descendant = this.#graph.node(target)
        descendant.inDegree--
        if (!wasExplained) descendant.unexplainedSources--
        else if (!isTold) descendant.unexplainedSources = this.#graph.countUnexplained(target)
        this.#graph.save(descendant)
        if (descendant.inDegree === 0) this.#store.markForRemoval(target, forced)
        else this.#explainIfReady(descendant, work)
        work.remove(2)
        if (work.isUp) return false
      }
    }
    return true
  }

  #unmark(id: number, work: PruneWork): void {
    this.#onUnmarked(this.#store.unmark(id))
    this.#explainIfReady(this.#graph.node(id), work)
  }

  /** A pruned ancestor counts as settled, not as missing. */
  #explainIfReady(node: CpidNode, work: PruneWork): void {
    if (node.unexplainedSources > 0 || !node.hasMergelog || node.explained) return
    const sources = (this.#graph.storedSources(node.id) ?? []).flatMap(
      (source) => this.#graph.find(source) ?? [],
    )
    this.#graph.announce(node.id, 'explained')
    work.spend(explain(this.#graph, node, this.#maxFanout, sources, EXPLAINED_AT_ONCE))
  }
}

/** How long a CPID whose pruning threw is skipped, in up time. */
const LATER_MS = 3_600_000
/** The most skipped CPIDs; the oldest are forgotten, and so retried sooner. */
const MOST = 10_000

/** Keeps an error for one CPID from stopping pruning: the CPID is skipped for an hour, and all others are pruned. */
export class PruneGuard {
  readonly #attempt: PruneAttempt
  readonly #activeMs: () => number
  readonly #until = new Map<number, number>()

  constructor(attempt: PruneAttempt, activeMs: () => number) {
    this.#attempt = attempt
    this.#activeMs = activeMs
  }

  /** The hold of a skipped CPID. */
  hold(cpid: number): PruneHold | undefined {
    const at = this.#until.get(cpid)
    return at === undefined || at <= this.#activeMs() ? undefined : { until: 'activeMs', at }
  }

  /** Does work on one CPID; undefined if it threw and was undone. */
  attempt<T>(cpid: number, does: 'reads' | 'writes', work: () => T): T | undefined {
    let done: T | undefined
    const hasWorked = this.#attempt(cpid, does, () => {
      done = work()
    })
    if (hasWorked) return done
    if (this.#until.size >= MOST) this.#until.delete(this.#until.keys().next().value ?? 0)
    this.#until.set(cpid, this.#activeMs() + LATER_MS)
    return undefined
  }

  forget(): void {
    this.#until.clear()
  }
}

/** The cost of removing a CPID itself, and of checking its holds, relative to a removed row. */
const CPID_COST = 10
export const LOOK_COST = 2
const COST_OF_BUDGET = 50

/** The remaining work of one turn. At least one step is always done, so that every turn makes progress. */
export class PruneWork {
  #left: number
  readonly #mayGoOn: () => boolean
  #hasBegun = false
  removed = 0

  /** `budget`: about how many CPIDs may go; `mayGoOn` is asked between steps. */
  constructor(budget: number, mayGoOn: () => boolean) {
    this.#left = budget * COST_OF_BUDGET
    this.#mayGoOn = mayGoOn
  }

  spend(cost: number): void {
    this.#left -= cost
    if (cost > 0) this.#hasBegun = true
  }

  /** Counts removed rows. */
  remove(rows: number): void {
    this.removed += rows
    this.spend(rows)
  }

  get isUp(): boolean {
    return this.#hasBegun && (this.#left <= 0 || !this.#mayGoOn())
  }
}
