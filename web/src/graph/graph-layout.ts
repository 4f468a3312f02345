import { Graph as LayoutGraph, layout } from '@dagrejs/dagre'

export const NODE_WIDTH = 230
export const NODE_HEIGHT = 54

export interface Point {
  x: number
  y: number
}

export interface Drawing {
  width: number
  height: number
  /** The centre of each CPID's node. */
  nodes: ReadonlyMap<string, Point>
  edges: readonly { source: string; target: string; points: readonly Point[] }[]
}

/** The graph to lay out. Nodes are identified by `cpid`, whatever they stand for. */
interface Placed {
  nodes: readonly { cpid: string }[]
  edges: readonly { source: string; target: string }[]
}

/** Lays out a graph in layers, causes on the left. */
export function drawingOf({ nodes, edges }: Placed): Drawing {
  const graph = new LayoutGraph()
  graph.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 46, marginx: 8, marginy: 8 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { cpid } of nodes) graph.setNode(cpid, { width: NODE_WIDTH, height: NODE_HEIGHT })
  const known = new Set(nodes.map(({ cpid }) => cpid))
  const drawn = edges.filter(({ source, target }) => known.has(source) && known.has(target))
  for (const { source, target } of drawn) graph.setEdge(source, target)
  layout(graph)
  const places = new Map<string, Point>()
  for (const { cpid } of nodes) {
    const { x = 0, y = 0 } = graph.node(cpid) as Partial<Point>
    places.set(cpid, { x, y })
  }
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number }
  return {
    width,
    height,
    nodes: places,
    edges: drawn.map(({ source, target }) => {
      const { points = [] } = graph.edge(source, target) as { points?: Point[] }
      return { source, target, points }
    }),
  }
}
