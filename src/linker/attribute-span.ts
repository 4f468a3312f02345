import { SPAN_HAS_LINKS, SPAN_NAMES_POD, SPAN_NAMES_REQUEST } from '../model/arrivals.ts'
import {
  type ArrivedSpan,
  AWAITED_AFTER_FORWARD,
  AWAITED_FOR_CPID,
  keyOfLink,
  keyOfPod,
  keyOfRequest,
  keyOfTrace,
  type LinkPorts,
} from '../model/linking-ports.ts'
import type { UnixNanos } from '../model/time-and-size.ts'
import { isSent } from './causes.ts'
import { awaitChange } from './enter-change.ts'
import type { LinkContext } from './link-context.ts'
import { forwardUnattributed, sendOrWait } from './send-span.ts'
import { mayJoin } from './trace-room.ts'
import type { Waited } from './waiting.ts'

/** How many ancestors are checked for one that names the same request: an API server's filters lie between. */
const MAX_NESTED = 16
const ARRIVAL_ONLY = { cpid: undefined, origin: undefined, parentId: undefined, behindUntilMs: undefined }

interface Taken {
  readonly cpid: number
  readonly joined: boolean
}

/**
 * Finds the CPID of a span that carries none: that of its nearest ancestor, once that has arrived, or of what the span names.
 * `waited` says for which of these it has waited, if it has.
 */
export function attributeSpan(ctx: LinkContext, span: ArrivedSpan, waited?: Waited): void {
  // A span that arrives after its parent takes the parent's CPID even if the parent still waits; one that arrived before it goes after it.
  const above = waited === undefined ? knownOf(aboveOf(ctx, span)) : aboveOf(ctx, span)
  if (waitsForAncestor(ctx, span, above, waited?.waiting.behindUntilMs)) return
  attributeNow(ctx, span, knownOf(above), waited)
}

/** Attributes a span without its parent, after its longest wait, and releases the spans that wait for it. */
export function giveUp(ctx: LinkContext, row: number): void {
  const span = ctx.spans.span(row)
  if (span === undefined || span.cpid !== undefined || !ctx.waiting.remove(row)) return
  ctx.joins.stopAwaiting(row)
  const waiting = { ...ARRIVAL_ONLY, arrival: row, kind: 'join' } as const
  attributeNow(ctx, span, knownOf(aboveOf(ctx, span)), { waiting, dueMs: ctx.clock.activeMs })
}

function aboveOf(ctx: LinkContext, span: ArrivedSpan): NearestAncestor {
  return span.malformed ? undefined : nearestAbove(ctx, span)
}

/** The nearest ancestor for a span that stops waiting; a parent that still waits counts with its CPID. */
function knownOf(above: NearestAncestor): NearestAncestor {
  const parent = above?.kind === 'awaited' ? above.parent : undefined
  return parent?.cpid === undefined ? above : { kind: 'cpid', cpid: parent.cpid, joined: parent.joined }
}

function attributeNow(
  ctx: LinkContext,
  span: ArrivedSpan,
  above: NearestAncestor,
  waited: Waited | undefined,
): void {
  if (span.names !== 0 && !span.malformed && joins(ctx, span, above, waited)) return
  if (above?.kind === 'cpid' && mayJoin(ctx, span, above.cpid)) takeCpid(ctx, span, above, waited?.dueMs)
  else {
    if (above?.kind === 'awaited')
      ctx.parents.add(span.origin, above.parentId, AWAITED_AFTER_FORWARD, undefined, true)
    forwardUnattributed(ctx, span)
  }
}

/** `dueMs` is until when the span has waited for its CPID, if it has. */
function takeCpid(ctx: LinkContext, span: ArrivedSpan, { cpid, joined }: Taken, dueMs?: number): void {
  ctx.spans.inheritCpid(span, cpid, joined)
  awaitChange(ctx, span, cpid)
  sendOrWait(ctx, span, cpid, dueMs)
}

/**
 * A missing parent is waited for until it has been missing for `wait`. A parent that has arrived is waited for as long as it
 * waits itself, at most twice `wait` in all: then the topmost waiting span is attributed, and its descendants follow.
 */
function waitsForAncestor(
  ctx: LinkContext,
  span: ArrivedSpan,
  above: NearestAncestor,
  behindUntilMs: number | undefined,
): boolean {
  if (above?.kind !== 'awaited') return false
  const { parents, clock, settings, waiting, steps } = ctx
  const { origin } = span
  const { parentId, row } = above
  const sinceMs = (row === undefined ? parents.since(origin, parentId) : undefined) ?? clock.activeMs
  const mostMs = behindUntilMs ?? sinceMs + 2 * settings.waitMs
  const until = row === undefined ? Math.min(sinceMs + settings.waitMs, mostMs) : mostMs
  if (until <= clock.activeMs) {
    const top = topmostWaiting(ctx, span)
    if (top.row === span.row) return false
    steps.push({ kind: 'given up', row: top.row })
  }
  parents.add(origin, parentId, AWAITED_FOR_CPID, undefined, true)
  const orphan = { arrival: span.row, kind: 'orphan', cpid: undefined, origin, parentId } as const
  waiting.add({ ...orphan, behindUntilMs: mostMs }, until)
  return true
}

/**
 * Joins what the span names, or waits for it, once its parent is no longer waited for. False if the span names nothing. Spans
 * below a joined span go with it.
 */
function joins(
  ctx: LinkContext,
  span: ArrivedSpan,
  above: NearestAncestor,
  waited: Waited | undefined,
): boolean {
  const hasCpid = above?.kind === 'cpid'
  if (hasCpid && above.joined) return false
  const { activeMs } = ctx.clock
  // A span that has waited long enough stops. Spans below a request's span do not wait for a write that it did not find.
  const mayWait = hasCpid || (above === undefined && !isBelowRequest(ctx, span))
  const dueMs = waited?.waiting.kind === 'join' ? waited.dueMs : undefined
  const until = mayWait ? (dueMs ?? activeMs + ctx.settings.waitMs) : activeMs
  if (take(ctx, span, joiningByRequest(ctx, span), until)) return true
  // A request's span may continue its caller's trace; any other span with a parent belongs to that.
  return !hasCpid && take(ctx, span, joiningByOther(ctx, span), span.parentId === 0n ? until : activeMs)
}

function isBelowRequest({ spans }: LinkContext, span: ArrivedSpan): boolean {
  let at: ArrivedSpan | undefined = span
  for (let depth = 0; depth < MAX_NESTED && at?.parentRow !== undefined; depth++) {
    at = spans.span(at.parentRow)
    if (at !== undefined && (at.names & SPAN_NAMES_REQUEST) !== 0) return true
  }
  return false
}

function take(ctx: LinkContext, span: ArrivedSpan, joining: Joining | undefined, until: number): boolean {
  if (joining?.kind === 'found') {
    ctx.joins.add(span, joining.target.row)
    takeCpid(ctx, span, { cpid: joining.cpid, joined: true })
    return true
  }
  if (joining === undefined || until <= ctx.clock.activeMs) return false
  ctx.joins.await(span.row, joining.keys)
  ctx.waiting.add({ arrival: span.row, kind: 'join', ...ARRIVAL_ONLY }, until)
  return true
}

/**
 * Where a span without a CPID may get one; undefined if no ancestor has one. `row` is of a stored ancestor that waits or is
 * about to be linked.
 */
type NearestAncestor =
  | undefined
  | { kind: 'cpid'; cpid: number; joined: boolean }
  | { kind: 'awaited'; parentId: bigint; row: number | undefined; parent: ArrivedSpan | undefined }

/**
 * The CPID of the nearest ancestor that has one, or the ancestor that has to arrive first. An ancestor that was forwarded
 * without a CPID has none above it; one with a malformed `cpid.id` is skipped.
 */
function nearestAbove(
  { events, spans, waiting }: Pick<LinkPorts, 'events' | 'spans' | 'waiting'>,
  span: ArrivedSpan,
): NearestAncestor {
  const seen = new Set<number>()
  let at = span
  while (at.parentId !== 0n && !seen.has(at.row)) {
    seen.add(at.row)
    const { parentId, parentRow: row } = at
    const parent = row !== undefined && events.isLinked(row) ? spans.span(row) : undefined
    if (parent === undefined || waiting.hasSpan(parent.row)) return { kind: 'awaited', parentId, row, parent }
    if (parent.cpid !== undefined) return { kind: 'cpid', cpid: parent.cpid, joined: parent.joined }
    if (!parent.malformed) return undefined
    at = parent
  }
  return undefined
}

/** How many ancestors are visited at most. */
const MOST_CLIMBED = 64

/**
 * The topmost of the waiting spans without a CPID above a span, each of which waits for the next. The span itself if they form
 * a cycle, or if there are more than are visited.
 */
function topmostWaiting(
  ctx: Pick<LinkPorts, 'events' | 'spans' | 'waiting'>,
  span: ArrivedSpan,
): ArrivedSpan {
  let at = span
  for (let climbed = 0; climbed < MOST_CLIMBED; climbed++) {
    const above = nearestAbove(ctx, at)
    const row = above?.kind === 'awaited' ? above.row : undefined
    const next = row === undefined || !ctx.waiting.hasSpan(row) ? undefined : ctx.spans.span(row)
    if (next === undefined || next.cpid !== undefined) return at
    if (next.row === span.row) return span
    at = next
  }
  return span
}

/** Links of one span that are checked. */
const MAX_LINKS = 8
/** The largest clock difference between the components that report a request. */
const CLOCKS_DIFFER_NS = 1_000_000_000n

/** The span that a span without a CPID belongs to by its attributes or links: a stored one, or the keys by which one may arrive. */
type Joining =
  | { readonly kind: 'found'; readonly target: ArrivedSpan; readonly cpid: number }
  | { readonly kind: 'awaited'; readonly keys: readonly string[] }

/** The write that an API server's span is part of: by its audit id, or by the trace in which admission was called. */
function joiningByRequest(ctx: LinkContext, span: ArrivedSpan): Joining | undefined {
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
  // A span that may not be joined is not waited for.
  const isAwaited = ctx.settings.awaitsRequests === true && !reads && byNumber.length === 0
  return isAwaited ? { kind: 'awaited', keys: keysOf(span, auditId) } : undefined
}

/** The span that it links to, or the version of the Pod that a kubelet's span is about. */
function joiningByOther(ctx: LinkContext, span: ArrivedSpan): Joining | undefined {
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

/** A span that can be joined: of another original trace, with a CPID that the joining span's sender may join. */
function targetAt(ctx: LinkContext, span: ArrivedSpan, row: number): Target | undefined {
  const target = ctx.spans.span(row)
  if (target?.cpid === undefined || target.origin === span.origin) return undefined
  if (ctx.graph.maybeNode(target.cpid)?.pruned !== false || !mayJoin(ctx, span, target.cpid)) return undefined
  return { kind: 'found', target, cpid: target.cpid, isSent: isSent(ctx, row) }
}

/** An API server need not name its cluster. */
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
