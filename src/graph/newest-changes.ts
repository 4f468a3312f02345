import type { Cpid } from '../model/cpid.ts'
import type { CpidNode, MergeGraph } from '../model/ports/graph-port.ts'

const PAGE = 64

/**
 * Those of some CPIDs that no other of them descends from: what a write that read objects of all of them merges (Algorithm 1
 * of the paper, with the merge graph itself in place of the ancestors that objects carry). CPIDs that nobody knows descend from
 * nothing. At most `maxEdges` edges are looked at, newest first; what they do not tell counts as unrelated, so that a merge too
 * many may be made, never one too few.
 */
export function newestChanges(graph: MergeGraph, cpids: readonly Cpid[], maxEdges: number): Cpid[] {
  const [first, ...others] = cpids
  if (first === undefined || others.length === 0) return [...cpids]
  const nodes = cpids.flatMap((cpid) => graph.find(cpid) ?? [])
  const older = ancestorsAmong(graph, nodes, maxEdges)
  return cpids.filter((cpid) => !older.has(cpid))
}

/** Which of some CPIDs another of them descends from. A source never has a higher rank than what it merged into. */
function ancestorsAmong(graph: MergeGraph, nodes: readonly CpidNode[], maxEdges: number): Set<Cpid> {
  const wanted = new Map(nodes.map((node) => [node.id, node]))
  const lowest = Math.min(...nodes.map(({ rank }) => rank))
  const found = new Set<Cpid>()
  const seen = new Set<number>()
  const frontier = nodes.map(({ id, rank }) => ({ id, rank })).sort(byRank)
  let left = maxEdges
  for (let next = frontier.pop(); next !== undefined && left > 0; next = frontier.pop()) {
    for (let after = 0, more = true; more && left > 0;) {
      const sources = graph.rankedSources(next.id, after, PAGE)
      left -= Math.max(1, sources.length)
      for (const source of sources) {
        const known = wanted.get(source.id)
        if (known !== undefined) found.add(known.cpid)
        if (seen.has(source.id) || source.rank < lowest) continue
        seen.add(source.id)
        insert(frontier, source)
      }
      after = sources.at(-1)?.id ?? 0
      more = sources.length === PAGE
    }
    if (found.size === nodes.length - 1) break
  }
  return found
}

interface Ranked {
  readonly id: number
  readonly rank: number
}

/** Keeps the frontier in order, highest rank last. */
function insert(frontier: Ranked[], one: Ranked): void {
  let [low, high] = [0, frontier.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (byRank(frontier[middle] ?? one, one) < 0) low = middle + 1
    else high = middle
  }
  frontier.splice(low, 0, one)
}

function byRank(one: Ranked, other: Ranked): number {
  return one.rank - other.rank || one.id - other.id
}
