import type { CpidNode, MergeGraph } from '../model/ports/graph-port.ts'
import { newestRoots } from '../dag/newest-roots.ts'

/** CPIDs and edges that are gone over at once; the rest is for `explainMore`. */
const AT_ONCE = 500
const PAGE = 100
/** Of a CPID that is to be explained later. */
const NOT_YET = -1

/**
 * Marks a CPID explained, fixes its root list, and goes on to every descendant that waited only for it, as far as a turn goes.
 * `sources` are those its mergelog names, tombstones among them.
 */
export function explain(
  graph: MergeGraph,
  first: CpidNode,
  maxFanout: number,
  sources: readonly CpidNode[],
  atOnce = AT_ONCE,
): void {
  const explaining = new Explaining(graph, maxFanout, atOnce)
  explaining.mark(first, sources)
  explaining.goOn()
}

/** Goes on with what was left for later, over about `work` CPIDs and edges; returns how many those were, 0 when all is done. */
export function explainMore(graph: MergeGraph, maxFanout: number, work: number): number {
  const explaining = new Explaining(graph, maxFanout, work)
  for (let next = graph.nextToExplain(); next !== undefined; next = graph.nextToExplain()) {
    if (explaining.isOver) break
    explaining.resume(next.id, next.after)
  }
  return explaining.done
}

/** A CPID that has heard of its own explanation, and up to which target others have. */
interface Telling {
  id: number
  after: number
  /** Whether those that have not heard yet may count it or not: edges were added meanwhile. */
  isLate: boolean
}

class Explaining {
  done = 0
  readonly #graph: MergeGraph
  readonly #maxFanout: number
  readonly #work: number
  readonly #ready: number[] = []
  #telling: Telling | undefined

  constructor(graph: MergeGraph, maxFanout: number, work: number) {
    this.#graph = graph
    this.#maxFanout = maxFanout
    this.#work = work
  }

  get isOver(): boolean {
    return this.done >= this.#work
  }

  /** Goes on until all is told or the work is done; what is left is kept. */
  goOn(): void {
    for (;;) {
      if (this.#telling === undefined) {
        const id = this.#ready.pop()
        if (id === undefined) return
        const node = this.#graph.node(id)
        if (node.explained) continue
        this.mark(node, namedSources(this.#graph, node.id))
        this.#graph.announce(node.id, 'explained')
      }
      while (this.#telling !== undefined) {
        // Some at least, so that every turn gets on.
        this.#tellSome(this.#telling)
        if (this.isOver) break
      }
      if (!this.isOver) continue
      if (this.#telling !== undefined) this.#graph.explainLater(this.#telling.id, this.#telling.after)
      this.#telling = undefined
      for (const id of this.#ready.splice(0)) this.#graph.explainLater(id, NOT_YET)
      return
    }
  }

  mark(node: CpidNode, sources: readonly CpidNode[]): void {
    const wasExplained = node.explained
    node.explained = true
    node.roots = sources.length === 0 ? [node.id] : newestRoots(sources.map(rootsOf), this.#maxFanout)
    this.#graph.save(node)
    this.done++
    if (!wasExplained) this.#telling = { id: node.id, after: 0, isLate: false }
  }

  /** Takes up one that was left. */
  resume(id: number, after: number): void {
    this.#graph.explainedNow(id)
    this.done++
    const node = this.#graph.maybeNode(id)
    if (node === undefined || node.pruned) return
    if (after !== NOT_YET) this.#telling = { id, after, isLate: true }
    else if (!node.explained && node.hasMergelog && node.unexplainedSources === 0) this.#ready.push(id)
    this.goOn()
  }

  #tellSome(telling: Telling): void {
    const limit = Math.max(1, Math.min(PAGE, this.#work - this.done))
    const targets = this.#graph.targetsAfter(telling.id, telling.after, limit)
    for (const target of targets) {
      const descendant = this.#graph.node(target)
      if (telling.isLate) descendant.unexplainedSources = this.#graph.countUnexplained(target)
      else descendant.unexplainedSources--
      this.#graph.save(descendant)
      if (descendant.unexplainedSources === 0 && descendant.hasMergelog && !descendant.explained)
        this.#ready.push(target)
    }
    this.done += targets.length
    telling.after = targets.at(-1) ?? telling.after
    if (targets.length < limit) this.#telling = undefined
  }
}

function namedSources(graph: MergeGraph, id: number): CpidNode[] {
  return (graph.storedSources(id) ?? []).flatMap((source) => graph.find(source) ?? [])
}

/** A tombstone stands for itself: a root that has settled. */
function rootsOf(node: CpidNode): number[] {
  return node.roots ?? [node.id]
}
