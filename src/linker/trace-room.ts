import { claimStrength } from '../graph/sender-permissions.ts'
import type { ArrivedSpan, LinkPorts, LinkScopes, StoredMergelog, Trace } from '../model/linking-ports.ts'
import type { MergeGraph } from '../model/merge-graph.ts'
import { MAX_LINKS } from '../model/otlp/encode-telemetry.ts'
import { ADDED_BYTES, sentSize } from '../model/otlp/outgoing-records.ts'
import type { LinkContext } from './link-context.ts'
import { SHOWN_SOURCES } from './synthetic-spans.ts'

/** The spans at the end of a trace: its `cascade` span, and the one that says where it continues. */
const CLOSING_SPANS = 2
const MAX_CLOSING_BYTES = 2_048
/** One part in this many of a trace's bytes stays free for parents that arrive after their children. */
const SPARE_PART = 16
/** The largest size of a change span without its mergelog: ids, times, a link, a source. */
const CHANGE_BYTES = 512
const LINK_BYTES = 85
const SOURCE_BYTES = 44

/** What is about to be sent into a trace. */
interface Load {
  spans: number
  bytes: number
}

/** The largest size that a received span adds to a trace, without a cause in another trace. */
export const spanBytes = (span: ArrivedSpan): number => sentSize(span.bytes + ADDED_BYTES, span.envelopeBytes)

/** The largest size that the change span of a CPID adds to a trace. */
export function changeBytes(
  { mergelogs, scopes }: Pick<LinkPorts, 'mergelogs' | 'scopes'>,
  cpid: number,
): number {
  return mergelogBytes(scopes, mergelogs.find(cpid))
}

export function mergelogBytes(scopes: LinkScopes, mergelog: StoredMergelog | undefined): number {
  const envelope = scopes.envelopeBytes(scopes.ownUnder(mergelog?.scope))
  if (mergelog === undefined) return sentSize(CHANGE_BYTES, envelope)
  const { sources, object = '', reason = '', cluster = '' } = mergelog
  const said = 2 * Buffer.byteLength(object) + Buffer.byteLength(reason) + Buffer.byteLength(cluster)
  const listed =
    Math.min(sources.length, MAX_LINKS) * LINK_BYTES + Math.min(sources.length, SHOWN_SOURCES) * SOURCE_BYTES
  return sentSize(CHANGE_BYTES + said + listed, envelope)
}

/** True when activity or a back link fits, with room left for the spans at the end and for late parents. */
export function hasRoomFor(ctx: LinkContext, trace: Trace, load: Load): boolean {
  const { maxTraceSpans, maxTraceBytes } = ctx.settings
  const owed = trace.rootSent ? NOTHING : { spans: 1, bytes: changeBytes(ctx, trace.root) }
  return (
    trace.sentSpans + load.spans + owed.spans <= maxTraceSpans - CLOSING_SPANS &&
    trace.sentBytes + load.bytes + owed.bytes <= maxTraceBytes - Math.trunc(maxTraceBytes / SPARE_PART)
  )
}

/** True when a late parent fits: an otherwise full trace has room left for some. */
export function hasRoomForParent({ settings }: LinkContext, trace: Trace, bytes: number): boolean {
  const closing = Math.min(MAX_CLOSING_BYTES, Math.trunc(settings.maxTraceBytes / SPARE_PART))
  return trace.sentBytes + bytes <= settings.maxTraceBytes - closing
}

const NOTHING: Load = { spans: 0, bytes: 0 }

/** Where senders have permissions of their own, spans of other clusters than the root's may fill one part in this many. */
const GUESTS_PART = 2

/** Whether a trace has room for a span of this sender: guests, spans of other clusters, may use half of a trace. */
export function hasShareFor(ctx: LinkContext, trace: Trace, span: ArrivedSpan): boolean {
  if (!isGuest(ctx, trace, span)) return true
  const { maxTraceSpans, maxTraceBytes } = ctx.settings
  return (
    trace.guestSpans < Math.trunc(maxTraceSpans / GUESTS_PART) &&
    trace.guestBytes + spanBytes(span) <= Math.trunc(maxTraceBytes / GUESTS_PART)
  )
}

/** Counts a guest's span toward the share of guests. */
export function countGuest(ctx: LinkContext, trace: Trace, span: ArrivedSpan): void {
  if (!isGuest(ctx, trace, span)) return
  trace.guestSpans++
  trace.guestBytes += spanBytes(span)
}

/**
 * True of a span from another cluster than the one whose change the trace shows. Always false if senders have no permissions of
 * their own.
 */
function isGuest(
  { settings, scopes, mergelogs, graph }: LinkContext,
  trace: Trace,
  span: ArrivedSpan,
): boolean {
  if (settings.hasSenderRules !== true) return false
  const cluster = scopes.clusterOf(span.scope)
  const mergelog = mergelogs.find(trace.root)
  if (mergelog !== undefined) return (mergelog.cluster ?? '') !== cluster
  const claim = graph.maybeNode(trace.root)?.claim
  return claim !== undefined && claimStrength(claim, { service: span.service, cluster }) === 0
}

type OwnershipPorts = Pick<LinkPorts, 'mergelogs' | 'scopes'> & {
  readonly graph: Pick<MergeGraph, 'maybeNode'>
}

/** Whether a span without a CPID may inherit this one: not if its sender may not join changes of other clusters. */
export function mayJoin(
  { mergelogs, scopes, graph }: OwnershipPorts,
  span: ArrivedSpan,
  cpid: number,
): boolean {
  if (!span.joinsOwn) return true
  const cluster = scopes.clusterOf(span.scope)
  const mergelog = mergelogs.find(cpid)
  if (mergelog !== undefined) return (mergelog.cluster ?? '') === cluster
  const claim = graph.maybeNode(cpid)?.claim
  return claim === undefined || claimStrength(claim, { service: span.service, cluster }) > 0
}
