import { newestRoots } from '../../src/graph/ancestry.ts'
import type { CpidNode, MergeGraph } from '../../src/model/merge-graph.ts'

/** The CPIDs that end what is looked at above one: those that are explained, or whose mergelog is missing. */
function endsAbove(graph: MergeGraph, id: number): CpidNode[] {
  const ends: CpidNode[] = []
  const seen = new Set([id])
  for (const at of seen) {
    const node = graph.node(at)
    if (node.explained || !node.hasMergelog) ends.push(node)
    else for (const source of graph.sourcesOf(at)) seen.add(source)
  }
  return ends
}

export function plainRoots(graph: MergeGraph, id: number, maxFanout: number): number[] {
  return newestRoots(
    endsAbove(graph, id).map((end) => end.roots ?? [end.id]),
    maxFanout,
  )
}

/** When the missing ancestors of a CPID will have been missed for long enough, of those for which that is not over. */
export function plainEnds(graph: MergeGraph, id: number, waitMs: number, nowMs: number): number[] {
  return endsAbove(graph, id)
    .filter(({ explained }) => !explained)
    .map(({ missingSinceMs }) => missingSinceMs + waitMs)
    .filter((endMs) => endMs > nowMs)
    .sort((a, b) => a - b)
}
