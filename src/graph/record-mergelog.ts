import type { CpidNode, Mergelog, MergelogOutcome, MergeGraph } from '../model/ports/graph-port.ts'
import { explain } from './explain.ts'
import { cycleBudget, refillCycleBudget, type CycleBudget, findPlace, putInPlace } from './merge-order.ts'

export interface RecordMergelog {
  maxFanout: number
  budget?: CycleBudget
  /** About how many CPIDs are explained with it at once; some hundreds unless given. */
  explainAtOnce?: number
  /** Asked where there is another mergelog of this CPID already, or the same of somebody: whether this one takes its place. */
  isBetter?: (node: CpidNode) => boolean
}

/**
 * Adds a mergelog to the merge graph: an edge from each source to the new CPID (paper, section 3.4.2). Arrival order
 * does not matter. Repeating an accepted mergelog changes nothing. Where one takes the place of another, what descends
 * from the CPID keeps the root lists it has.
 */
export function recordMergelog(
  graph: MergeGraph,
  mergelog: Mergelog,
  { maxFanout, budget = cycleBudget(), explainAtOnce, isBetter }: RecordMergelog,
): MergelogOutcome {
  const known = graph.find(mergelog.cpid)
  const stored = known?.hasMergelog === true ? graph.storedSources(known.id) : undefined
  const replaced = stored !== undefined && known !== undefined && isBetter?.(known) === true
  if (stored !== undefined && !replaced) {
    return sameSources(stored, mergelog.sources)
      ? { kind: 'repeated' }
      : { kind: 'refused', refusal: 'different_sources' }
  }
  const place = findPlace(graph, mergelog, budget)
  if (place === 'closesCycle') return { kind: 'refused', refusal: 'closes_cycle' }
  if (place === 'tooFar') return { kind: 'refused', refusal: 'cycle_unknown' }

  refillCycleBudget(budget)
  const sources = mergelog.sources.map((source) => graph.sight(source))
  const node = graph.sight(mergelog.cpid)
  putInPlace(graph, place, node, sources)
  if (replaced) {
    graph.removeEdgesTo(node.id)
    node.inDegree = 0
    node.unexplainedSources = 0
  }
  for (const source of sources) {
    if (source.pruned) continue
    graph.addEdge(source.id, node.id)
    node.inDegree++
    if (!source.explained) node.unexplainedSources++
  }
  node.hasMergelog = true
  if (node.pruned) graph.revive(node)
  graph.save(node)
  const arrival = graph.announce(node.id, 'mergelog')
  if (node.unexplainedSources === 0 || (replaced && node.explained))
    explain(graph, node, maxFanout, sources, explainAtOnce)
  return { kind: 'new', arrival, replaced }
}

function sameSources(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((source, i) => source === b[i])
}
