import type { ArrivedSpan, AwaitedParent, ChangeSpan, LinkPorts, Trace } from '../model/linking-ports.ts'
import { spanIdHex } from '../model/otlp/encode-telemetry.ts'
import { CAUSE_BYTES } from '../model/otlp/outgoing-records.ts'
import {
  type ExtraPatch,
  SENT_COPY,
  SENT_FOR_CHILD,
  SENT_INHERITED_CPID,
  SENT_JOINED,
  SENT_PATCHED,
  SENT_UNDRIVEN,
} from '../model/outbox.ts'
import { canBeParentOf, type Cause, causeIn, hasOtherParts, observeHop, partWith } from './causes.ts'
import { ensureChangeSpan } from './change-spans.ts'
import type { LinkContext } from './link-context.ts'
import { listedRoots, noteActivity } from './open-traces.ts'
import { countSent, extendBounds } from './synthetic-spans.ts'
import { changeBytes, countGuest, hasRoomForParent, spanBytes } from './trace-room.ts'

interface Placing {
  trace: Trace
  /** The CPID under whose change span it goes if it has no parent in the trace. */
  cpid: number
  /** It is also in another trace. */
  copy: boolean
  /** It is activity of the trace's root. */
  driven: boolean
  /** What had awaited this span. */
  awaited: readonly AwaitedParent[]
}

/** Sends a late parent into a trace of its children, if the trace has room. */
export function bringParent(ctx: LinkContext, parent: ArrivedSpan, placing: Placing): void {
  const { trace, cpid } = placing
  if (ctx.outbox.wasSent(trace.id, parent.row)) return
  const change = ctx.changes.find(cpid, trace.id) === undefined ? changeBytes(ctx, cpid) : 0
  if (hasRoomForParent(ctx, trace, spanBytes(parent) + change)) placeSpan(ctx, parent, placing)
  else ctx.counts.leftOut++
}

/**
 * Sends a span into a trace, once, and updates change spans and counts of the trace. False for a span with the id of the trace's root or
 * of its own change span: it would hang under itself, and Tempo would keep one of the two.
 */
export function placeSpan(ctx: LinkContext, span: ArrivedSpan, placing: Placing): boolean {
  const { counts } = ctx
  const { trace, cpid } = placing
  if (ctx.outbox.wasSent(trace.id, span.row)) return true
  const change = ensureChangeSpan(ctx, trace, cpid, span.startNs, placing.driven)
  if (span.spanId === change.spanId || span.spanId === trace.rootSpan) {
    counts.ownIds++
    return false
  }
  const { parentId, cause, joined, elsewhere } = parentIn(ctx, span, placing, change)
  const links = span.hasLinks ? repointedLinks(ctx, trace, span.row, parentId) : undefined
  const extra = links === undefined && elsewhere === undefined ? undefined : patchOf(links, elsewhere)
  const isCounted = placing.driven && isCountedOf(ctx, trace, span.row)
  ctx.outbox.send({
    trace: trace.id,
    span: span.row,
    parentId,
    flags:
      (placing.copy ? SENT_COPY : 0) |
      (placing.driven ? 0 : SENT_UNDRIVEN) |
      (span.cpid === cpid ? 0 : SENT_FOR_CHILD) |
      (span.inherited ? SENT_INHERITED_CPID : 0) |
      (extra === undefined ? 0 : SENT_PATCHED) |
      (joined === undefined ? 0 : SENT_JOINED),
    extra,
    ...(cause !== undefined && { cause: cause.writer.row }),
    depth: depthUnder(ctx, span, cause, joined),
    ...(joined !== undefined && { cause: joined.span.row }),
    ...(elsewhere !== undefined && { cause: elsewhere.span.row, causeTrace: elsewhere.trace.id }),
  })
  if (cause !== undefined && !placing.copy) observeHop(ctx, trace, span, cause)
  if (span.writes) ctx.objects.addWrites(trace.cascade, span, ctx.objects.versions(span.row, 'wrote'))
  countSent(trace, { bytes: spanBytes(span), startNs: span.startNs, endNs: span.endNs })
  countGuest(ctx, trace, span)
  ctx.traces.touch(trace)
  if (placing.driven) {
    if (!isCounted) trace.controllerSpans++
    if (!isCounted && span.failed) trace.failedSpans++
    extendBounds(ctx, trace, span.startNs, span.endNs)
    if (ctx.traces.addService(trace, span.service)) trace.services++
    if (span.seen && !isCounted) ctx.actors.add(trace, span)
    if (span.writes) ctx.objects.addWritten(trace.cascade, span)
    noteActivity(ctx, trace)
  }
  if (elsewhere !== undefined) trace.sentBytes += CAUSE_BYTES
  counts.sent++
  return true
}

/** The depth of a span without a local parent; undefined if that is not known without walking. */
function depthUnder(
  { outbox }: LinkContext,
  { parentId }: ArrivedSpan,
  cause: Cause | undefined,
  joined: Elsewhere | undefined,
): number | undefined {
  if (parentId !== 0n || joined !== undefined) return undefined
  if (cause === undefined) return 1
  const above = outbox.depthIn(cause.trace.id, cause.writer.row)
  return above === undefined ? undefined : above + 1
}

/** A span in another trace of the same cascade. */
interface Elsewhere {
  span: ArrivedSpan
  trace: Trace
}

interface Parent {
  parentId: bigint
  cause?: Cause
  /** The span that it has joined. */
  joined?: Elsewhere
  /** What would be its parent if the cascade were one trace. */
  elsewhere?: Elsewhere
}

/**
 * The parent of a span in a trace: the span that it joined, if that is in the trace; else its local parent, if that is in the
 * trace or has not arrived yet (it will follow); else its cause; else the change span. A parent below the span itself is
 * skipped. A local parent or cause in another trace of the cascade is not the parent, but is linked.
 */
function parentIn(ctx: LinkContext, span: ArrivedSpan, placing: Placing, change: ChangeSpan): Parent {
  const joined = span.joined ? joinedIn(ctx, placing.trace, span) : undefined
  if (joined !== undefined) {
    return joined.trace === placing.trace
      ? { parentId: joined.span.spanId, joined }
      : { parentId: change.spanId, joined, elsewhere: joined }
  }
  const local = localParentIn(ctx, span, placing)
  if (typeof local === 'bigint') return { parentId: local }
  if (local !== undefined) return { parentId: change.spanId, elsewhere: local }
  const cause =
    span.observes && ctx.settings.mode === 'cascade'
      ? causeIn(ctx, placing.trace, span, hasNoneBelow(ctx, span, placing))
      : undefined
  if (cause === undefined) return { parentId: change.spanId }
  const { writer, trace } = cause
  return trace === placing.trace
    ? { parentId: writer.spanId, cause }
    : { parentId: change.spanId, cause, elsewhere: { span: writer, trace } }
}

/** An observed write that was sent nowhere yet has nothing below it: such spans have no local children. */
function hasNoneBelow({ outbox }: LinkContext, span: ArrivedSpan, { awaited }: Placing): boolean {
  return span.seen && span.isOwnReport !== true && awaited.length === 0 && outbox.isUnsent(span.row)
}

/** The span that it joined itself, in this trace or another part of its cascade. */
function joinedIn(ctx: LinkContext, trace: Trace, span: ArrivedSpan): Elsewhere | undefined {
  const row = ctx.joins.targetOf(span.row)
  const target = row === undefined ? undefined : ctx.spans.span(row)
  const part = target && partWith(ctx, trace, target.row)
  if (target === undefined || part === undefined) return undefined
  return canBeParentOf(ctx, part, target, span) ? { span: target, trace: part } : undefined
}

function localParentIn(
  ctx: LinkContext,
  span: ArrivedSpan,
  placing: Placing,
): bigint | Elsewhere | undefined {
  const { trace, cpid, driven, awaited } = placing
  const { parentId, parentRow, origin } = span
  if (parentId === 0n) return undefined
  if (parentRow === undefined || !ctx.events.isLinked(parentRow)) {
    ctx.parents.add(origin, parentId, trace.id, cpid, driven)
    return parentId
  }
  const part = partWith(ctx, trace, parentRow)
  if (part !== undefined) {
    if (awaited.some((child) => isPart(ctx, child.trace, trace)) && liesBelow(ctx, trace, parentRow, span)) {
      return undefined
    }
    if (part === trace) return parentId
    const parent = ctx.spans.span(parentRow)
    return parent && { span: parent, trace: part }
  }
  if (ctx.waiting.hasSpan(parentRow)) {
    ctx.parents.add(origin, parentId, trace.id, cpid, driven)
    return parentId
  }
  return isAboutToEnter(ctx, trace, parentRow) ? parentId : undefined
}

/**
 * True when the trace is that of a CPID which counted as a root and whose mergelog is stored but not linked yet: linking it
 * sends the span into the right traces.
 */
function isAboutToEnter(ctx: LinkContext, trace: Trace, row: number): boolean {
  if (ctx.settings.mode !== 'cascade') return false
  const isMoving = ctx.outbox.tracesOfSpan(row).some((id) => {
    const from = ctx.traces.trace(id)
    const mergelog = from?.provisional === true ? ctx.mergelogs.find(from.root) : undefined
    return mergelog !== undefined && !ctx.events.isLinked(mergelog.arrival)
  })
  const cpid = isMoving ? ctx.spans.span(row)?.cpid : undefined
  return cpid !== undefined && listedRoots(ctx, cpid).some(({ id }) => id === trace.root)
}

/** Whether another trace belongs to the same cascade. */
function isPart({ traces }: Pick<LinkPorts, 'traces'>, id: number, trace: Trace): boolean {
  if (id === trace.id) return true
  return id > 0 && hasOtherParts(trace) && traces.trace(id)?.cascade === trace.cascade
}

/** Whether the local parents of `row` that were sent into the cascade lead up to `top`. */
function liesBelow(ctx: LinkContext, trace: Trace, row: number, top: ArrivedSpan): boolean {
  const seen = new Set<number>()
  let at: number | undefined = row
  while (at !== undefined && !seen.has(at)) {
    seen.add(at)
    const span = ctx.spans.span(at)
    if (span === undefined) return false
    if (span.parentId === top.spanId) return true
    const above: number | undefined = span.parentRow
    at = above !== undefined && partWith(ctx, trace, above) !== undefined ? above : undefined
  }
  return false
}

function patchOf(links: ExtraPatch['links'] | undefined, elsewhere: Elsewhere | undefined): Buffer {
  const patch: ExtraPatch = {
    ...(links !== undefined && { links }),
    ...(elsewhere !== undefined && {
      cause: { traceId: elsewhere.trace.traceId.toString('hex'), spanId: spanIdHex(elsewhere.span.spanId) },
    }),
  }
  return Buffer.from(JSON.stringify(patch))
}

/** Whether the span is counted in another trace of the same root already: a parent may follow its children into several. */
function isCountedOf(
  { outbox, traces }: Pick<LinkPorts, 'outbox' | 'traces'>,
  trace: Trace,
  row: number,
): boolean {
  if (trace.episode === 0 && trace.open) return false
  const ofRoot = outbox.tracesOfSpan(row).filter((id) => traces.trace(id)?.root === trace.root)
  return ofRoot.some((id) => !outbox.isUndriven(id, row))
}

/**
 * New trace ids for a span's links whose targets have moved, by position: this trace if the target is here too, else the
 * target's newest one. Undefined when no link changes.
 */
function repointedLinks(
  { spans, outbox, traces: all }: Pick<LinkPorts, 'spans' | 'outbox' | 'traces'>,
  trace: Trace,
  row: number,
  parentId: bigint,
): ExtraPatch['links'] {
  const links: Record<number, string> = {}
  spans.linksOf(row).forEach((link, position) => {
    // Jaeger would show a link to the parent instead of the parent.
    if (link.spanId === parentId) return
    const target = spans.find(link.traceId, link.spanId)
    if (target === undefined) return
    const traces = outbox.tracesOfSpan(target)
    const into = target === row || traces.includes(trace.id) ? trace : all.trace(Math.max(0, ...traces))
    if (into !== undefined) links[position] = into.traceId.toString('hex')
  })
  return Object.keys(links).length === 0 ? undefined : links
}
