import type { CpidNode, MergeGraph } from '../model/ports/graph-port.ts'

/** Unites root lists and keeps the `most` newest. Ids grow by first sighting, so the newest is the highest. */
export function newestRoots(lists: Iterable<readonly number[]>, most: number): number[] {
  const united = new Set<number>()
  for (const list of lists) for (const root of list) united.add(root)
  return [...united].sort((a, b) => b - a).slice(0, most)
}

/**
 * The roots of a CPID as far as they are known: its fixed list once explained; before that the lists of its
 * explained ancestors, with each ancestor whose own mergelog is missing counting as a root (design rule "when a span
 * leaves"). Walks only ancestors that are not explained, and those in `known`, of the same graph and `most`, not again.
 */
export function knownRoots(
  graph: MergeGraph,
  id: number,
  most: number,
  known = new Map<number, readonly number[]>(),
): readonly number[] {
  return foldUnexplained(graph, id, known, {
    ofEnd: (node) => node.roots ?? [node.id],
    ofSources: (lists) => newestRoots(lists, most),
  })
}

/** What a CPID comes to, given what its sources come to. */
interface Fold<T> {
  /** Of one that is explained, or whose own mergelog has not arrived. */
  ofEnd: (node: CpidNode) => T
  ofSources: (parts: T[]) => T
}

/** Sources first, each once, without recursion: a chain may be longer than a stack is deep. */
export function foldUnexplained<T>(graph: MergeGraph, from: number, known: Map<number, T>, fold: Fold<T>): T {
  const stack = [from]
  const begun = new Set<number>()
  for (let id = stack.at(-1); id !== undefined; id = stack.at(-1)) {
    if (known.has(id)) {
      stack.pop()
      continue
    }
    const node = graph.node(id)
    if (node.explained || !node.hasMergelog) {
      known.set(id, fold.ofEnd(node))
      continue
    }
    const sources = graph.sourcesOf(id)
    const unknown = begun.has(id) ? [] : sources.filter((source) => !known.has(source))
    if (unknown.length === 0) known.set(id, fold.ofSources(partsOf(sources, known)))
    begun.add(id)
    stack.push(...unknown)
  }
  return known.get(from) ?? fold.ofSources([])
}

function partsOf<T>(sources: readonly number[], known: ReadonlyMap<number, T>): T[] {
  const parts: T[] = []
  for (const source of sources) {
    const part = known.get(source)
    if (part !== undefined) parts.push(part)
  }
  return parts
}
