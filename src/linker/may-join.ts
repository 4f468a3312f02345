import { claimStrength } from '../model/senders/claims.ts'
import type { MergeGraph } from '../model/ports/graph-port.ts'
import type { LinkPorts } from '../model/ports/linking/link-ports.ts'
import type { ArrivedSpan } from '../model/ports/linking/spans.ts'

type Asked = Pick<LinkPorts, 'mergelogs' | 'scopes'> & { readonly graph: Pick<MergeGraph, 'maybeNode'> }

/** Whether a span without a CPID may take this one from its parent: not where its sender must not join another cluster's changes. */
export function mayJoin({ mergelogs, scopes, graph }: Asked, span: ArrivedSpan, cpid: number): boolean {
  if (!span.joinsOwn) return true
  const cluster = scopes.clusterOf(span.scope)
  const mergelog = mergelogs.find(cpid)
  if (mergelog !== undefined) return (mergelog.cluster ?? '') === cluster
  const claim = graph.maybeNode(cpid)?.claim
  return claim === undefined || claimStrength(claim, { service: span.service, cluster }) > 0
}
