import type { CpidNode, Mergelog, MergeGraph, RankedCpid } from '../model/ports/graph-port.ts'

const PAGE = 64

/** How many edges may still be looked at for the mergelogs of one request. */
export interface CycleBudget {
  left: number
  /** What mergelogs that are taken may still add. */
  toEarn: number
}

const EARNED = 100
const MAX_EARNED = 20

/**
 * What looking for cycles may cost one request: some ten milliseconds, and more where it has many mergelogs. Those that arrive in
 * order cost nothing, a thousand in random order some thirty edges each.
 */
export function cycleBudget(edges = 5_000): CycleBudget {
  return { left: edges, toEarn: edges * MAX_EARNED }
}

/** A mergelog was taken, and those that follow build on it. */
export function refillCycleBudget(budget: CycleBudget): void {
  const earned = Math.min(EARNED, budget.toEarn)
  budget.left += earned
  budget.toEarn -= earned
}

/** Where a mergelog's CPIDs go in the order, once its edges are added. */
export interface Place {
  /** New ranks of CPIDs that are known, by their number. */
  readonly moves: ReadonlyMap<number, number>
  /** Whether something descends from the new CPID, so that sources nobody knew have to go below it. */
  readonly hasTargets: boolean
}

const AS_THEY_ARE: ReadonlyMap<number, number> = new Map()

/**
 * Finds out whether a mergelog would close a cycle, and where its CPIDs go in the order of the graph (ADR-020): a CPID's rank
 * is never below those of its sources, so that only what lies between the new CPID and a source above it is looked at, down
 * from the one and up from the others in turn, until one side is known whole; that side then moves. Looks at no edge at
 * all where the sources come first already. 'tooFar' when the budget runs out.
 */
export function findPlace(
  graph: MergeGraph,
  { cpid, sources }: Mergelog,
  budget: CycleBudget,
): Place | 'closesCycle' | 'tooFar' {
  const start = graph.find(cpid)
  if (start === undefined) return { moves: AS_THEY_ARE, hasTargets: false }
  const above = new Map<number, number>()
  let areAllKnown = true
  let top = -Infinity
  for (const source of sources) {
    const node = graph.find(source)
    if (node === undefined) areAllKnown = false
    else if (node.rank >= start.rank) {
      above.set(node.id, node.rank)
      top = Math.max(top, node.rank)
    }
  }
  if (above.size === 0 && areAllKnown) return { moves: AS_THEY_ARE, hasTargets: true }

  const down = new Side(new Map([[start.id, start.rank]]), {
    page: (id, after) => graph.rankedTargets(id, after, PAGE),
    isWithin: (rank) => rank <= top,
    nearer: Math.min,
    farthest: Infinity,
  })
  const up = new Side(above, {
    page: (id, after) => graph.rankedSources(id, after, PAGE),
    isWithin: (rank) => rank >= start.rank,
    nearer: Math.max,
    farthest: -Infinity,
  })
  const spent = (): number => down.cost + up.cost
  // At least once, to know whether anything descends from it.
  do {
    const [side, other] = down.cost <= up.cost ? [down, up] : [up, down]
    const isMet = side.step(other)
    if (isMet || spent() > budget.left) {
      budget.left -= spent()
      return isMet ? 'closesCycle' : 'tooFar'
    }
  } while (!down.isDone && !up.isDone)
  const hasTargets = !down.isDone || down.found.size > 1 || down.nearestBeyond !== Infinity
  const moves =
    above.size === 0 || !hasTargets
      ? AS_THEY_ARE
      : down.isDone
        ? spread(down.found, top, Math.min(down.nearestBeyond, top + 1))
        : spread(up.found, Math.max(up.nearestBeyond, start.rank - 1), start.rank)
  budget.left -= spent() + moves.size
  return { moves, hasTargets }
}

/** Brings the CPIDs of a mergelog into order, before its edges are added. `sources` and `node` are sighted. */
export function putInPlace(
  graph: MergeGraph,
  { moves, hasTargets }: Place,
  node: CpidNode,
  sources: readonly CpidNode[],
): void {
  for (const [id, rank] of moves) graph.place(id, rank)
  const rank = moves.get(node.id) ?? node.rank
  let top = -Infinity
  for (const source of sources) {
    const at = moves.get(source.id) ?? source.rank
    if (at <= rank || source.pruned) continue
    // Nothing led to a source that is above without having been looked at: nobody knew it.
    if (hasTargets) graph.place(source.id, rank - 1)
    else top = Math.max(top, at)
  }
  // Halfway to the number of whatever is sighted next, which so comes after it.
  if (top > rank) graph.place(node.id, top + 0.5)
}

/** Gives CPIDs ranks between two others, in the order they had. Where there is no room left they get the same. */
function spread(ranks: ReadonlyMap<number, number>, low: number, high: number): Map<number, number> {
  const inOrder = [...new Set(ranks.values())].sort((a, b) => a - b)
  const part = (high - low) / (inOrder.length + 1)
  const placed = new Map(inOrder.map((rank, at) => [rank, Math.min(high, low + part * (at + 1))]))
  return new Map(Array.from(ranks, ([id, rank]) => [id, placed.get(rank) ?? low]))
}

interface Direction {
  /** Edges of a CPID to others with numbers above `after`, by number. */
  page: (id: number, after: number) => RankedCpid[]
  isWithin: (rank: number) => boolean
  /** Which of two ranks outside is nearer. */
  nearer: (a: number, b: number) => number
  farthest: number
}

/** One of the two directions of the search. */
class Side {
  /** Edges looked at, and CPIDs whose edges were. */
  cost = 0
  /** What was found within the bounds, and its rank. */
  readonly found: Map<number, number>
  /** The rank nearest to the bounds of what lies beyond them. */
  nearestBeyond: number
  readonly #direction: Direction
  readonly #waiting: number[]
  /** The CPID whose edges are being looked at, and the last of them. */
  #at: number | undefined
  #after = 0

  constructor(found: Map<number, number>, direction: Direction) {
    this.found = found
    this.nearestBeyond = direction.farthest
    this.#direction = direction
    this.#waiting = [...found.keys()]
  }

  get isDone(): boolean {
    return this.#at === undefined && this.#waiting.length === 0
  }

  /** Looks at one page of edges; true when it meets what the other side has found. */
  step(other: Side): boolean {
    const id = this.#at ?? this.#waiting.pop()
    if (id === undefined) return false
    const page = this.#direction.page(id, this.#after)
    const last = page.length === PAGE ? page.at(-1)?.id : undefined
    this.#at = last === undefined ? undefined : id
    this.#after = last ?? 0
    this.cost += page.length + 1
    for (const { id: next, rank } of page) {
      if (other.found.has(next)) return true
      if (this.found.has(next)) continue
      if (this.#direction.isWithin(rank)) {
        this.found.set(next, rank)
        this.#waiting.push(next)
      } else this.nearestBeyond = this.#direction.nearer(this.nearestBeyond, rank)
    }
    return false
  }
}
