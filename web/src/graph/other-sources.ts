import type { Changes } from '../api/use-changes.ts'
import type { Graph, GraphNode, Mergelog } from '../../../src/query/answer-schemas.ts'

export interface DrawnNode extends GraphNode {
  /** Neither an ancestor nor a descendant: it was merged into one of those. */
  other: boolean
}

export interface DrawnGraph {
  cpid: string
  nodes: readonly DrawnNode[]
  edges: Graph['edges']
  truncated: boolean
}

/** What the picture and the table of a merge graph show. */
export interface ShownGraph {
  graph: DrawnGraph
  changes: Changes
  /** When the requested CPID began. */
  start: string
}

const MAX_OTHERS = 60

/** The graph around a CPID, with the other changes that its descendants merged. */
export function withOtherSources(graph: Graph, mergelogs: readonly Mergelog[]): DrawnGraph {
  const distances = new Map(graph.nodes.map(({ cpid, distance }) => [cpid, distance]))
  const nodes: DrawnNode[] = graph.nodes.map((node) => ({ ...node, other: false }))
  const edges = [...graph.edges]
  const others = new Set<string>()
  for (const { cpid, sources } of mergelogs) {
    const distance = distances.get(cpid)
    // Sources of an ancestor are ancestors themselves. They are shown unless there are too many.
    if (distance === undefined || distance <= 0) continue
    for (const source of sources) {
      if (distances.has(source) || others.size >= MAX_OTHERS) continue
      edges.push({ source, target: cpid })
      if (others.has(source)) continue
      others.add(source)
      nodes.push({ ...UNKNOWN, cpid: source, distance: distance - 1 })
    }
  }
  return { cpid: graph.cpid, nodes, edges, truncated: graph.truncated }
}

const UNKNOWN: Omit<DrawnNode, 'cpid' | 'distance'> = {
  timestamp: null,
  service: null,
  object: null,
  reason: null,
  cluster: null,
  root: false,
  explained: false,
  other: true,
}
