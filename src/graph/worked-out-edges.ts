import type { Cpid, CpidNode, MergeGraph, Mergelog } from '../model/merge-graph.ts'

const EDGES_A_PAGE = 64

/** How many edges may still be visited. */
interface EdgeBudget {
  left: number
}

/**
 * For a mergelog that was sent and would close a cycle: the CPIDs whose worked-out mergelogs are to blame, and the sources that these
 * keep. Undefined if the sent mergelogs alone would close one, or it costs too much to find out. Nothing is changed.
 */
export function sourcesToKeep(
  graph: MergeGraph,
  { cpid, sources }: Mergelog,
  isWorkedOut: (node: CpidNode) => boolean,
  budget: EdgeBudget,
): ReadonlyMap<CpidNode, Cpid[]> | undefined {
  const start = graph.find(cpid)
  if (start === undefined) return undefined
  const named = sources.flatMap((source) => graph.find(source)?.id ?? [])
  const targets = targetsIn(graph)
  const below = reached([start.id], targets, () => true, budget)
  if (below === undefined) return undefined
  const workedOut = new Map<number, CpidNode>()
  for (const id of below) {
    const node = graph.node(id)
    if (id !== start.id && isWorkedOut(node)) workedOut.set(id, node)
  }
  if (workedOut.size === 0) return undefined
  const belowSent = reached([start.id], targets, (id) => !workedOut.has(id), budget)
  if (belowSent === undefined || named.some((id) => belowSent.has(id))) return undefined
  const between = reached(
    named.filter((id) => below.has(id)),
    sourcesIn(graph),
    (id) => below.has(id),
    budget,
  )
  if (between === undefined) return undefined
  const kept = new Map<CpidNode, Cpid[]>()
  for (const [id, node] of workedOut) {
    if (!between.has(id)) continue
    const isBelow = (source: Cpid): boolean => below.has(graph.find(source)?.id ?? 0)
    kept.set(node, graph.storedSources(id)?.filter((source) => !isBelow(source)) ?? [])
  }
  return kept
}

type Page = (id: number, after: number) => readonly { readonly id: number }[]

const targetsIn =
  (graph: MergeGraph): Page =>
  (id, after) =>
    graph.rankedTargets(id, after, EDGES_A_PAGE)

const sourcesIn =
  (graph: MergeGraph): Page =>
  (id, after) =>
    graph.rankedSources(id, after, EDGES_A_PAGE)

/** The first CPIDs and those reachable through CPIDs for which `passes` is true; undefined if that visits too many edges. */
function reached(
  first: readonly number[],
  page: Page,
  passes: (id: number) => boolean,
  budget: EdgeBudget,
): ReadonlySet<number> | undefined {
  const found = new Set(first)
  for (const id of found)
    for (let after = 0; ;) {
      const next = page(id, after)
      budget.left -= next.length + 1
      if (budget.left < 0) return undefined
      for (const one of next) if (passes(one.id)) found.add(one.id)
      const last = next.at(-1)
      if (next.length < EDGES_A_PAGE || last === undefined) break
      after = last.id
    }
  return found
}
