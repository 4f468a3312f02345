import {
  type ArrivedSpan,
  AWAITED_AFTER_FORWARD,
  AWAITED_FOR_CPID,
  type AwaitedParent,
  type Trace,
  type Waiting,
} from '../model/linking-ports.ts'
import { spanIdHex } from '../model/otlp/encode-telemetry.ts'
import { type ExtraPatch, SENT_INHERITED_CPID, SENT_PATCHED } from '../model/outbox.ts'
import { driversOf, partWith, rootsDriving } from './causes.ts'
import { needsChangeSpan, placeChange } from './enter-change.ts'
import type { LinkContext } from './link-context.ts'
import { listedRoots, openTracesOf, tracesFor } from './open-traces.ts'
import { bringParent, placeSpan } from './place-span.ts'
import { changeSpanId, traceIdOf } from './synthetic-spans.ts'
import { hasShareFor, mayJoin, spanBytes } from './trace-room.ts'
import {
  beginToWait,
  missParent,
  type Waited,
  waitsForParent,
  waitsForWriters,
  waitsOn,
  waitsUntil,
} from './waiting.ts'

const NO_PARENT = { origin: undefined, parentId: undefined, behindUntilMs: undefined }

/**
 * Sends a span. If its CPID is not explained, or a writer or parent that it needs has not been sent, the span waits instead.
 * `dueMs` is until when it has waited for its CPID.
 */
export function sendOrWait(ctx: LinkContext, span: ArrivedSpan, cpid: number, dueMs?: number): void {
  // First, so that a missing writer counts as missing from now on.
  const written = waitsForWriters(ctx, span)
  const explained =
    ctx.settings.mode === 'links' ? undefined : (waitsUntil(ctx, cpid) ?? waitsForMove(ctx, cpid))
  if (explained !== undefined) {
    missParent(ctx, span)
    ctx.waiting.add({ ...NO_PARENT, arrival: span.row, cpid, kind: 'span' }, explained)
    return
  }
  const awaited = written ?? waitsForParent(ctx, span, cpid)
  if (awaited === undefined) {
    send(ctx, span, cpid)
    return
  }
  const waiting: Waiting = {
    ...NO_PARENT,
    ...{ arrival: span.row, cpid, kind: written === undefined ? 'parent' : 'cause' },
    ...(written === undefined && { origin: span.origin, parentId: span.parentId }),
  }
  if (dueMs === undefined) beginToWait(ctx, waiting, awaited)
  else if (!waitsOn(ctx, { waiting, dueMs }, span, awaited)) send(ctx, span, cpid)
}

/**
 * Whether a span waits because its CPID counted as a root and the CPID's mergelog is stored but not linked yet. The mergelog
 * moves spans that were sent; this one is sent after that, so that it finds its parent. Returns when to check again.
 */
function waitsForMove(ctx: LinkContext, cpid: number): number | undefined {
  const { traces, mergelogs, events, clock, settings } = ctx
  if (settings.mode !== 'cascade' || traces.currentOf(cpid)?.provisional !== true) return undefined
  const mergelog = mergelogs.find(cpid)
  const isMoving = mergelog !== undefined && mergelog.sources.length > 0 && !events.isLinked(mergelog.arrival)
  return isMoving ? clock.activeMs + settings.waitMs : undefined
}

/** Sends a span that waited for others if it need not wait any more; otherwise it keeps waiting. */
export function sendOrWaitOn(ctx: LinkContext, waited: Waited, span: ArrivedSpan, cpid: number): void {
  const awaited =
    waited.waiting.kind === 'cause' ? waitsForWriters(ctx, span) : waitsForParent(ctx, span, cpid)
  if (awaited === undefined || !waitsOn(ctx, waited, span, awaited)) send(ctx, span, cpid)
}

function send(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  if (ctx.settings.mode === 'passthrough' && needsChangeSpan(ctx, cpid)) placeChange(ctx, cpid)
  sendSpan(ctx, span, cpid)
}

const ARRIVAL_ONLY = { cpid: undefined, origin: undefined, parentId: undefined, behindUntilMs: undefined }

/** Sends a span with a known CPID into the traces of its CPID. */
function sendSpan(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  const awaited = ctx.parents.take(span)
  if (ctx.settings.mode === 'passthrough') sendInPlace(ctx, span, cpid)
  else sendIntoTraces(ctx, span, cpid, awaited)
  releaseFollowers(ctx, span, awaited, cpid)
}

function sendIntoTraces(
  ctx: LinkContext,
  span: ArrivedSpan,
  cpid: number,
  awaited: readonly AwaitedParent[],
): void {
  const roots = listedRoots(ctx, cpid)
  // A span that a Causeway added: the traces have their own, and opening one for spans that are sent back here would loop.
  if (span.isOfCauseway && roots.some(({ id }) => ctx.traces.currentOf(id) !== undefined)) {
    ctx.counts.ownIds++
    const rootHere = ctx.spans.rootOfOutgoing(span.origin)
    if (!roots.some(({ id }) => id === rootHere)) sendWhereItIs(ctx, span)
    return
  }
  const drivers = driversOf(ctx, span, roots)
  const traces = tracesFor(ctx, { cpid, roots, drivers }, span.startNs, spanBytes(span), span)
  let placed = 0
  for (const { trace, driven } of traces) {
    if (placeSpan(ctx, span, { trace, cpid, copy: placed > 0, driven, awaited })) placed++
  }
  if (traces.length === 0 && !span.joined) ctx.counts.beyondShare++
  if (placed === 0 && !traces.some(({ trace }) => isFrom(ctx, trace, span))) sendWhereItIs(ctx, span)
}

/** Whether a span arrived in a trace that has the id of this outgoing one. */
function isFrom({ spans }: LinkContext, { traceId }: Trace, span: ArrivedSpan): boolean {
  const row = spans.find(traceId, span.spanId)
  return row !== undefined && spans.span(row)?.origin === span.origin
}

/**
 * Leaves a span in its original trace: a guest's span for which the traces of its change have no room, one that has joined a
 * change that has settled, one with an id that they use themselves, or one that another Causeway added.
 */
function sendWhereItIs(ctx: LinkContext, span: ArrivedSpan): void {
  const flags = span.inherited ? SENT_INHERITED_CPID : 0
  ctx.outbox.send({ trace: 0, span: span.row, parentId: span.parentId, flags, extra: undefined })
  ctx.counts.sent++
}

/** Releases what waited for a span that is being sent: its children, spans that observed what it wrote, and the rest. */
function releaseFollowers(
  ctx: LinkContext,
  span: ArrivedSpan,
  awaited: readonly AwaitedParent[],
  cpid: number | undefined,
): void {
  const { waiting: all, joins, logs, steps, settings } = ctx
  if (awaited.length > 0) followAwaited(ctx, span, awaited, cpid)
  if (span.writes) releaseObservers(ctx, span)
  // Changes that it reported.
  for (const waiting of all.changesReportedBy(span.spanId)) steps.push({ kind: 'waited', waiting })
  if (settings.logs) for (const row of logs.waitingForSpan(span)) steps.push({ kind: 'waited log', row })
  // Spans that can join it now.
  for (const arrival of joins.waitingFor(span))
    steps.push({ kind: 'waited', waiting: { arrival, kind: 'join', ...ARRIVAL_ONLY } })
}

/** Releases spans that waited for what this one wrote. */
function releaseObservers(ctx: LinkContext, writer: ArrivedSpan): void {
  for (const version of ctx.objects.versions(writer.row, 'wrote')) {
    for (const row of ctx.objects.takeObservers(version)) ctx.steps.push({ kind: 'observer', row })
  }
}

/** Sends a span that waited for a writer, unless it still waits for another writer or a mergelog. */
export function sendObserver(ctx: LinkContext, row: number): void {
  const span = ctx.waiting.hasSpan(row) ? ctx.spans.span(row) : undefined
  if (span?.cpid === undefined || waitsForWriters(ctx, span) !== undefined) return
  if (waitsUntil(ctx, span.cpid) !== undefined) return
  ctx.waiting.remove(row)
  sendSpan(ctx, span, span.cpid)
}

/** Forwards a span without a CPID unchanged. */
export function forwardUnattributed(ctx: LinkContext, span: ArrivedSpan): void {
  const awaited = ctx.parents.take(span)
  ctx.outbox.send({ trace: 0, span: span.row, parentId: span.parentId, flags: 0, extra: undefined })
  ctx.counts.sent++
  ctx.counts.unattributed++
  releaseFollowers(ctx, span, awaited, undefined)
}

/** Releases children that waited for this span. Children that were sent without it get it as a parent, in their traces. */
function followAwaited(
  ctx: LinkContext,
  span: ArrivedSpan,
  awaited: readonly AwaitedParent[],
  cpid: number | undefined,
): void {
  const driving = cpid === undefined ? undefined : rootsDriving(ctx, span.row)
  /** By cascade: the CPID under whose change span it goes there. */
  const below = new Map<number, number>()
  for (const child of awaited) {
    const trace = child.trace > 0 ? ctx.traces.trace(child.trace) : undefined
    if (trace === undefined || child.cpid === undefined) continue
    // The child was pruned meanwhile.
    if (ctx.graph.maybeNode(child.cpid)?.pruned !== false) continue
    const driven = driving === undefined ? child.driven : driving.includes(trace.root)
    const first = below.get(trace.cascade) ?? (partWith(ctx, trace, span.row) && cpid) ?? child.cpid
    below.set(trace.cascade, first)
    bringParent(ctx, span, { trace, cpid: first, copy: true, driven, awaited })
  }
  if (awaited.some((child) => child.trace === AWAITED_FOR_CPID)) {
    for (const waiting of ctx.waiting.forParent(span.origin, span.spanId)) {
      const { arrival: row, kind } = waiting
      const child = { kind: 'child', row, cpid, joined: span.joined } as const
      ctx.steps.push(kind === 'parent' ? { kind: 'waited', waiting } : child)
    }
  }
  if (cpid !== undefined && awaited.some((child) => child.trace === AWAITED_AFTER_FORWARD)) {
    sendLateChildren(ctx, span, cpid)
  }
}

/** Sends a child that waited for its parent, with the parent's CPID. */
export function sendChild(
  ctx: LinkContext,
  child: ArrivedSpan,
  cpid: number | undefined,
  joined: boolean,
): void {
  if (cpid === undefined || !mayJoin(ctx, child, cpid)) {
    forwardUnattributed(ctx, child)
    return
  }
  ctx.spans.inheritCpid(child, cpid, joined)
  sendSpan(ctx, child, cpid)
}

/**
 * Sends children again that had been forwarded without a CPID before their parent arrived with one, and their own children,
 * into the traces that are right and still open.
 */
function sendLateChildren(ctx: LinkContext, parent: ArrivedSpan, cpid: number): void {
  const stack = [parent]
  let sent = false
  for (let above = stack.pop(); above !== undefined; above = stack.pop()) {
    for (const child of ctx.spans.childrenWithoutCpid(above.origin, above.spanId)) {
      // A span that waits looks for its ancestors by itself.
      if (ctx.waiting.hasSpan(child.row) || !mayJoin(ctx, child, cpid)) continue
      ctx.spans.inheritCpid(child, cpid, above.joined)
      const roots = ctx.settings.mode === 'cascade' ? listedRoots(ctx, cpid) : []
      const drivers = driversOf(ctx, child, roots)
      const open = openTracesOf(ctx, { cpid, roots, drivers }, child.startNs, spanBytes(child))
      for (const { trace, driven } of open.filter((one) => hasShareFor(ctx, one.trace, child))) {
        placeSpan(ctx, child, { trace, cpid, copy: true, driven, awaited: [] })
      }
      sent = true
      stack.push(child)
    }
  }
  if (sent) ctx.counts.lateParents++
}

/** Leaves a span in its original trace, and adds the roots of its CPID and links to their change spans. */
function sendInPlace(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  const { graph } = ctx
  const self = graph.node(cpid)
  const roots = ctx.ancestry.roots(cpid).flatMap((root) => graph.maybeNode(root)?.cpid ?? [])
  const linked = [...new Set([self.cpid, ...roots])]
  const patch: ExtraPatch = {
    roots,
    addLinks: linked.map((target) => {
      const traceId = traceIdOf(target, 0)
      return { traceId: traceId.toString('hex'), spanId: spanIdHex(changeSpanId(traceId, target)) }
    }),
  }
  ctx.outbox.send({
    trace: 0,
    span: span.row,
    parentId: span.parentId,
    flags: SENT_PATCHED | (span.inherited ? SENT_INHERITED_CPID : 0),
    extra: Buffer.from(JSON.stringify(patch)),
  })
  ctx.counts.sent++
}
