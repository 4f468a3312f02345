import type { Cpid } from '../model/cpid.ts'
import type { GraphAround, GraphNode as NodeFacts } from '../model/ports/query-port.ts'
import { rfc3339 } from '../model/rfc3339.ts'
import type { GraphNode } from './answers/graph.ts'

/** The merge graph around a CPID as the API shows it. */
export function* graphJson(cpid: Cpid, { nodes, edges, truncated }: GraphAround): Generator<string> {
  yield `{"cpid":"${cpid}","nodes":${JSON.stringify(nodes.map(nodeJson))},"truncated":${truncated},"edges":[`
  let separator = ''
  for (const page of edges) {
    if (page.length === 0) continue
    yield separator + page.map((edge) => JSON.stringify(edge)).join(',')
    separator = ','
  }
  yield ']}'
}

function nodeJson(node: NodeFacts): GraphNode {
  return {
    cpid: node.cpid,
    timestamp: node.timeNs === undefined ? null : rfc3339(node.timeNs),
    service: node.service ?? null,
    object: node.object ?? null,
    reason: node.reason ?? null,
    cluster: node.cluster ?? null,
    root: node.root,
    explained: node.explained,
    distance: node.distance,
  }
}
