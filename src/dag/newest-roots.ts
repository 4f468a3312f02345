import type { MergeGraph } from '../model/graph-port.ts'

/** Unites root lists and keeps the `most` newest. Ids grow by first sighting, so the newest is the highest. */
export function newestRoots(lists: Iterable<readonly number[]>, most: number): number[] {
  const united = new Set<number>()
  for (const list of lists) for (const root of list) united.add(root)
  return [...united].sort((a, b) => b - a).slice(0, most)
}

/**
 * The roots of a CPID as far as they are known: its fixed list once explained; before that the lists of its
 * explained ancestors, with each ancestor whose own mergelog is missing counting as a root (design rule "when a span
 * leaves"). Walks only ancestors that are not explained.
 */
export function knownRoots(graph: MergeGraph, id: number, most: number): number[] {
  const start = graph.node(id)
  if (start.roots !== undefined) return start.roots
  const lists: number[][] = []
  walkUnexplained(graph, id, (node) => {
    if (node.roots !== undefined) lists.push(node.roots)
    else if (!node.hasMergelog || node.pruned) lists.push([node.id])
  })
  return newestRoots(lists, most)
}

/** Those ancestors of a CPID, or itself, whose own mergelog has not arrived. */
export function missingAncestors(graph: MergeGraph, id: number): number[] {
  const missing: number[] = []
  walkUnexplained(graph, id, (node) => {
    if (!node.explained && !node.hasMergelog) missing.push(node.id)
  })
  return missing
}

function walkUnexplained(
  graph: MergeGraph,
  from: number,
  visit: (node: ReturnType<MergeGraph['node']>) => void,
): void {
  const seen = new Set([from])
  const stack = [from]
  for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
    const node = graph.node(id)
    visit(node)
    if (node.explained || !node.hasMergelog) continue
    for (const source of graph.sourcesOf(id)) {
      if (seen.has(source)) continue
      seen.add(source)
      stack.push(source)
    }
  }
}
