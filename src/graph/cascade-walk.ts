import type { MergeGraph } from '../model/ports/graph-port.ts'
import type { PruneCandidate } from '../model/ports/prune-port.ts'

const PAGE = 64
/** Beyond that many each is looked at only when its turn to go comes. */
const MOST = 100_000

/**
 * A candidate, then those that would lose their last incoming edge with it, sources before what they merged into. It goes
 * step by step, so that it can be left and gone on with however many there are.
 */
export class CascadeWalk {
  readonly candidate: PruneCandidate
  /** It was begun in an earlier turn: what it found may not be true any more. */
  isOld = false
  readonly #graph: MergeGraph
  readonly #going: number[]
  readonly #left = new Map<number, number>()
  #looked = 0
  #at = 0
  #after = 0

  constructor(graph: MergeGraph, candidate: PruneCandidate) {
    this.#graph = graph
    this.candidate = candidate
    this.#going = [candidate.id]
  }

  /** Whether the candidate is there, and no edge points to it. */
  get isStillCandidate(): boolean {
    const node = this.#graph.maybeNode(this.candidate.id)
    return node !== undefined && !node.pruned && node.inDegree === 0
  }

  /** All that were found. */
  get members(): readonly number[] {
    return this.#going
  }

  /** The next member; 'none yet' when edges were looked at without finding one, undefined at the end. */
  next(): number | 'none yet' | undefined {
    if (this.#looked === this.#going.length && !this.#isAtEnd) this.#expand()
    if (this.#looked < this.#going.length) return this.#going[this.#looked++]
    return this.#isAtEnd ? undefined : 'none yet'
  }

  get #isAtEnd(): boolean {
    return this.#at >= this.#going.length || this.#going.length >= MOST
  }

  /** Looks at one page of edges. */
  #expand(): void {
    const page = this.#graph.targetsAfter(this.#going[this.#at] ?? 0, this.#after, PAGE)
    for (const target of page) {
      const incoming = (this.#left.get(target) ?? this.#graph.node(target).inDegree) - 1
      if (incoming === 0) {
        this.#left.delete(target)
        this.#going.push(target)
      } else this.#left.set(target, incoming)
    }
    const last = page.at(-1)
    this.#after = page.length < PAGE ? 0 : (last ?? 0)
    if (this.#after === 0) this.#at++
  }
}
