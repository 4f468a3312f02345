import type { UnixNanos } from '../../model/clock.ts'
import { SPAN_HAS_LINKS, SPAN_NAMES_POD, SPAN_NAMES_REQUEST } from '../../model/arrivals.ts'
import { keyOfLink, keyOfPod, keyOfRequest, keyOfTrace } from '../../model/ports/linking/joins.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import { isSent } from '../drives/drivers.ts'
import type { LinkContext } from '../link-context.ts'
import { mayJoin } from '../may-join.ts'

/** Links of one span that are looked at. */
const MAX_LINKS = 8
/** How much the clocks of those who tell of a request may differ. */
const CLOCKS_DIFFER_NS = 1_000_000_000n

/** What a span without a CPID belongs to by what it says itself: what is there, or by which keys it may come. */
export type Joining =
  | { readonly kind: 'found'; readonly target: ArrivedSpan; readonly cpid: number }
  | { readonly kind: 'awaited'; readonly keys: readonly string[] }

/** The write that a span of an API server is part of, as its number says, or the trace in which admission was called for it. */
export function joiningByRequest(ctx: LinkContext, span: ArrivedSpan): Joining | undefined {
  if ((span.names & SPAN_NAMES_REQUEST) === 0) return undefined
  const { auditId, reads } = ctx.joins.namedBy(span.row)
  if (auditId === undefined) return undefined
  const byNumber = ctx.joins.writesOf(auditId)
  const rows = byNumber.length > 0 || reads ? byNumber : ctx.joins.writesAdmittedIn(span.origin)
  const writes = rows.flatMap((row) => targetAt(ctx, span, row) ?? [])
  const ofCluster = writes.filter(({ target }) => isOfCluster(ctx, span, target))
  const admitted = byNumber.length > 0 ? ofCluster : ofCluster.filter(({ target }) => overlap(target, span))
  const [nearest] = admitted.sort((a, b) => compare(apart(a.target, span), apart(b.target, span)))
  if (nearest !== undefined)
    return nearest.isSent ? nearest : { kind: 'awaited', keys: keysOf(span, auditId) }
  // One that may not be joined is not waited for.
  const isAwaited = ctx.settings.awaitsRequests === true && !reads && byNumber.length === 0
  return isAwaited ? { kind: 'awaited', keys: keysOf(span, auditId) } : undefined
}

/** The span that one links to, or the version of its Pod that a kubelet's has to do with. */
export function joiningByOther(ctx: LinkContext, span: ArrivedSpan): Joining | undefined {
  return joiningByLink(ctx, span) ?? joiningByPod(ctx, span)
}

function joiningByLink(ctx: LinkContext, span: ArrivedSpan): Joining | undefined {
  if ((span.names & SPAN_HAS_LINKS) === 0) return undefined
  const keys: string[] = []
  for (const link of ctx.spans.linksOf(span.row).slice(0, MAX_LINKS)) {
    if (link.traceId.length === 0 || link.spanId === 0n) continue
    const row = ctx.spans.find(link.traceId, link.spanId)
    const linked = row === undefined ? undefined : ctx.spans.span(row)
    if (linked === undefined || !isSent(ctx, linked.row)) {
      if (linked?.origin !== span.origin) keys.push(keyOfLink(link.spanId))
      continue
    }
    const found = targetAt(ctx, span, linked.row)
    if (found !== undefined) return found
  }
  return keys.length === 0 ? undefined : { kind: 'awaited', keys }
}

function joiningByPod(ctx: LinkContext, span: ArrivedSpan): Joining | undefined {
  if ((span.names & SPAN_NAMES_POD) === 0) return undefined
  const { pod } = ctx.joins.namedBy(span.row)
  if (pod === undefined) return undefined
  const row = ctx.joins.newestWriteOf(pod, ctx.scopes.clusterOf(span.scope), span.startNs)
  const found = row === undefined ? undefined : targetAt(ctx, span, row)
  if (found !== undefined) return found.isSent ? found : { kind: 'awaited', keys: [keyOfPod(pod.uid)] }
  return row === undefined && ctx.settings.awaitsPods === true
    ? { kind: 'awaited', keys: [keyOfPod(pod.uid)] }
    : undefined
}

type Target = Extract<Joining, { kind: 'found' }> & { readonly isSent: boolean }

/** A span that another may join: of another original trace, with a CPID that the other's sender may join. */
function targetAt(ctx: LinkContext, span: ArrivedSpan, row: number): Target | undefined {
  const target = ctx.spans.span(row)
  if (target?.cpid === undefined || target.origin === span.origin) return undefined
  if (ctx.graph.maybeNode(target.cpid)?.pruned !== false || !mayJoin(ctx, span, target.cpid)) return undefined
  return { kind: 'found', target, cpid: target.cpid, isSent: isSent(ctx, row) }
}

/** An API server need not say of which cluster it is. */
function isOfCluster({ scopes }: LinkContext, span: ArrivedSpan, target: ArrivedSpan): boolean {
  const cluster = scopes.clusterOf(span.scope)
  return cluster === '' || cluster === scopes.clusterOf(target.scope)
}

const keysOf = (span: ArrivedSpan, auditId: string): string[] => [
  keyOfRequest(auditId),
  keyOfTrace(span.origin),
]

function overlap(a: ArrivedSpan, b: ArrivedSpan): boolean {
  return a.startNs <= b.endNs + CLOCKS_DIFFER_NS && b.startNs <= a.endNs + CLOCKS_DIFFER_NS
}

function apart(a: ArrivedSpan, b: ArrivedSpan): UnixNanos {
  return a.startNs < b.startNs ? b.startNs - a.startNs : a.startNs - b.startNs
}

const compare = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
