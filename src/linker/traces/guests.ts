import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'
import type { LinkContext } from '../link-context.ts'
import { claimStrength } from '../../model/senders/claims.ts'
import { spanBytes } from './trace-room.ts'

/** The part of a trace that spans of other clusters than its root's may fill, where senders are told apart. */
const GUESTS_PART = 2

/** Whether a trace has room for a span of whoever sent it: guests leave half of it to the cluster whose change it is. */
export function hasShareFor(ctx: LinkContext, trace: Trace, span: ArrivedSpan): boolean {
  if (!isGuest(ctx, trace, span)) return true
  const { maxTraceSpans, maxTraceBytes } = ctx.settings
  return (
    trace.guestSpans < Math.trunc(maxTraceSpans / GUESTS_PART) &&
    trace.guestBytes + spanBytes(span) <= Math.trunc(maxTraceBytes / GUESTS_PART)
  )
}

/** Takes a guest's span off the share of guests. */
export function countGuest(ctx: LinkContext, trace: Trace, span: ArrivedSpan): void {
  if (!isGuest(ctx, trace, span)) return
  trace.guestSpans++
  trace.guestBytes += spanBytes(span)
}

/** A span of another cluster than that whose change the trace's root is; nobody is one where everybody may send everything. */
function isGuest(
  { settings, scopes, mergelogs, graph }: LinkContext,
  trace: Trace,
  span: ArrivedSpan,
): boolean {
  if (settings.tellsSendersApart !== true) return false
  const cluster = scopes.clusterOf(span.scope)
  const mergelog = mergelogs.find(trace.root)
  if (mergelog !== undefined) return (mergelog.cluster ?? '') !== cluster
  const claim = graph.maybeNode(trace.root)?.claim
  return claim !== undefined && claimStrength(claim, { service: span.service, cluster }) === 0
}
