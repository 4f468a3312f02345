import { claimStrength } from '../graph/sender-permissions.ts'
import type { ArrivedSpan, LinkPorts, LinkScopes, StoredMergelog, Trace } from '../model/linking-ports.ts'
import type { MergeGraph } from '../model/merge-graph.ts'
import { MAX_LINKS } from '../model/otlp/encode-telemetry.ts'
import { ADDED_BYTES, sentSize } from '../model/otlp/outgoing-records.ts'
import type { LinkContext } from './link-context.ts'
import { SHOWN_SOURCES } from './synthetic-spans.ts'

/** What a trace ends with: its `cascade` span, and what says where it goes on. */
const CLOSING_SPANS = 2
const MAX_CLOSING_BYTES = 2_048
/** A trace keeps one in so many of its bytes free for parents that come after their children. */
const SPARE_PART = 16
/** What a change span weighs at most besides what its mergelog tells: ids, times, a link, a source. */
const CHANGE_BYTES = 512
const LINK_BYTES = 85
const SOURCE_BYTES = 44

/** What is about to be sent into a trace. */
interface Load {
  spans: number
  bytes: number
}

/** The most that a received span adds to a trace, without a cause in another one. */
export const spanBytes = (span: ArrivedSpan): number => sentSize(span.bytes + ADDED_BYTES, span.envelopeBytes)

/** The most that the change span of a CPID adds to a trace. */
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

/** True when activity or a back link fits: what ends the trace, and parents that come late, must fit after it. */
export function hasRoomFor(ctx: LinkContext, trace: Trace, load: Load): boolean {
  const { maxTraceSpans, maxTraceBytes } = ctx.settings
  const owed = trace.rootSent ? NOTHING : { spans: 1, bytes: changeBytes(ctx, trace.root) }
  return (
    trace.sentSpans + load.spans + owed.spans <= maxTraceSpans - CLOSING_SPANS &&
    trace.sentBytes + load.bytes + owed.bytes <= maxTraceBytes - Math.trunc(maxTraceBytes / SPARE_PART)
  )
}

/** True when a parent fits that came after its children: a trace that is full otherwise has room left for some. */
export function hasRoomForParent({ settings }: LinkContext, trace: Trace, bytes: number): boolean {
  const closing = Math.min(MAX_CLOSING_BYTES, Math.trunc(settings.maxTraceBytes / SPARE_PART))
  return trace.sentBytes + bytes <= settings.maxTraceBytes - closing
}

const NOTHING: Load = { spans: 0, bytes: 0 }

/** Where senders are told apart, spans of other clusters than its root's may fill one in so many parts of a trace. */
const GUESTS_PART = 2

/** Whether a trace has room for a span, by its sender: guests leave half of the trace to the cluster whose change it shows. */
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

/** True of a span from another cluster than the one whose change the trace shows; never where senders are not told apart. */
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
