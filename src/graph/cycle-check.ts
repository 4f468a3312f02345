import type { Mergelog, MergeGraph } from '../model/graph-port.ts'

const PAGE = 64

/** How many edges may still be looked at for the mergelogs of one request. */
export interface CycleBudget {
  left: number
}

/** What looking for cycles may cost one request: a few seconds. What honest senders send takes a few edges each. */
export function cycleBudget(edges = 5_000_000): CycleBudget {
  return { left: edges }
}

/**
 * Whether one of the sources can be reached from the new CPID, so that the mergelog would close a cycle; 'tooFar' when the
 * budget ran out first. It goes down from the new CPID and up from the sources in turn, so that it costs no more than
 * twice the smaller side: a CPID nothing descends from, and sources that nothing led to, cost next to nothing.
 */
export function closesCycle(
  graph: MergeGraph,
  { cpid, sources }: Mergelog,
  budget: CycleBudget,
): boolean | 'tooFar' {
  const start = graph.find(cpid)
  if (start === undefined) return false
  const above = new Set<number>()
  for (const source of sources) {
    const node = graph.find(source)
    if (node !== undefined) above.add(node.id)
  }
  const below = new Set([start.id])
  const up = new Side(above, (id) => [graph.sourcesOf(id)])
  const down = new Side(below, (id) => pagesOfTargets(graph, id))
  while (!up.isDone && !down.isDone) {
    const [side, other] = up.cost <= down.cost ? [up, below] : [down, above]
    const before = side.cost
    if (side.step(other)) return true
    budget.left -= side.cost - before
    if (budget.left < 0) return 'tooFar'
  }
  return false
}

/** A CPID may have a million targets, so they are read a page at a time. */
function* pagesOfTargets(graph: MergeGraph, id: number): Generator<number[]> {
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: number[] = graph.targetsAfter(id, after, PAGE)
    yield page
    after = page.length < PAGE ? undefined : page.at(-1)
  }
}

/** One of the two directions of the search. */
class Side {
  /** Edges looked at. */
  cost = 0
  isDone = false
  readonly #seen: Set<number>
  readonly #nextTo: (id: number) => Iterable<number[]>
  readonly #waiting: number[]
  #pages: Iterator<number[]> | undefined

  constructor(seen: Set<number>, nextTo: (id: number) => Iterable<number[]>) {
    this.#seen = seen
    this.#nextTo = nextTo
    this.#waiting = [...seen]
    this.isDone = this.#waiting.length === 0
  }

  /** Looks at one page of edges; true when it meets what the other side has seen. */
  step(other: ReadonlySet<number>): boolean {
    if (this.#pages === undefined) {
      const id = this.#waiting.pop()
      if (id === undefined) {
        this.isDone = true
        return false
      }
      this.#pages = this.#nextTo(id)[Symbol.iterator]()
    }
    const page = this.#pages.next()
    if (page.done === true) {
      this.#pages = undefined
      this.isDone = this.#waiting.length === 0
      return false
    }
    this.cost += page.value.length + 1
    for (const id of page.value) {
      if (other.has(id)) return true
      if (this.#seen.has(id)) continue
      this.#seen.add(id)
      this.#waiting.push(id)
    }
    return false
  }
}
