import {
  AWAITED_AFTER_FORWARD,
  AWAITED_FOR_CPID,
  type ArrivedSpan,
  type AwaitedParent,
} from '../model/ports/link-port.ts'
import type { LinkContext } from './link-context.ts'
import { waitsForWriters } from './causes/causes.ts'
import { bringParent, placeSpan } from './place-span.ts'
import { sendInPlace } from './passthrough.ts'
import { openTracesOf, tracesFor } from './traces/trace-openings.ts'
import { spanBytes } from './traces/trace-room.ts'
import { waitsUntil } from './causes/waits.ts'

/** Sends a span whose CPID is known to where its CPID's activity goes now. */
export function sendSpan(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  const awaited = ctx.store.takeAwaited(span)
  if (ctx.settings.mode === 'passthrough') sendInPlace(ctx, span, cpid)
  else {
    tracesFor(ctx, cpid, span.startNs, spanBytes(span)).forEach((trace, position) => {
      placeSpan(ctx, span, { trace, cpid, copy: position > 0, awaited })
    })
  }
  followAwaited(ctx, span, awaited, cpid)
  if (span.writes) releaseObservers(ctx, span)
  ctx.spanLeft?.(span)
}

/** Spans that waited for what this one wrote go after it, unless they wait for another writer or a mergelog still. */
function releaseObservers(ctx: LinkContext, writer: ArrivedSpan): void {
  const { store } = ctx
  for (const version of store.objects.versions(writer.row, 'wrote')) {
    for (const row of store.objects.takeObservers(version)) {
      ctx.todo.push(() => {
        const span = store.isWaiting(row) ? store.span(row) : undefined
        if (span?.cpid === undefined || waitsForWriters(ctx, span) !== undefined) return
        if (waitsUntil(ctx, span.cpid) !== undefined) return
        store.stopWaiting(row)
        sendSpan(ctx, span, span.cpid)
      })
    }
  }
}

/** Forwards a span without a CPID unchanged. */
export function forwardUnattributed(ctx: LinkContext, span: ArrivedSpan): void {
  const awaited = ctx.store.takeAwaited(span)
  ctx.store.send({ trace: 0, span: span.row, parentId: span.parentId, flags: 0, extra: undefined })
  ctx.counts.sent++
  ctx.counts.unattributed++
  followAwaited(ctx, span, awaited, undefined)
  ctx.spanLeft?.(span)
}

/** What had been waiting for this span, or went ahead without it, learns of it. */
function followAwaited(
  ctx: LinkContext,
  span: ArrivedSpan,
  awaited: readonly AwaitedParent[],
  cpid: number | undefined,
): void {
  if (awaited.length === 0) return
  const { store } = ctx
  for (const child of awaited) {
    const trace = child.trace > 0 ? store.trace(child.trace) : undefined
    if (trace === undefined || child.cpid === undefined) continue
    // The child was pruned since.
    if (ctx.graph.maybeNode(child.cpid)?.pruned !== false) continue
    bringParent(ctx, span, { trace, cpid: child.cpid, copy: true, awaited })
  }
  if (awaited.some((child) => child.trace === AWAITED_FOR_CPID)) {
    for (const waiting of store.waitingForParent(span.origin, span.spanId)) {
      store.stopWaiting(waiting.arrival)
      const child = store.span(waiting.arrival)
      if (child === undefined) continue
      ctx.todo.push(() => {
        if (cpid === undefined) forwardUnattributed(ctx, child)
        else inheritAndSend(ctx, child, cpid)
      })
    }
  }
  if (cpid !== undefined && awaited.some((child) => child.trace === AWAITED_AFTER_FORWARD)) {
    sendLateChildren(ctx, span, cpid)
  }
}

/** A child takes its parent's CPID; where that still waits to be explained, so does the child. */
export function inheritAndSend(ctx: LinkContext, child: ArrivedSpan, cpid: number): void {
  ctx.store.inheritCpid(child, cpid)
  sendSpan(ctx, child, cpid)
}

/**
 * A parent with a CPID came after its children had been forwarded without one: they and their own children are sent
 * again, into the traces now right and still open.
 */
function sendLateChildren(ctx: LinkContext, parent: ArrivedSpan, cpid: number): void {
  const { store } = ctx
  const stack = [parent]
  let sent = false
  for (let above = stack.pop(); above !== undefined; above = stack.pop()) {
    for (const child of store.childrenWithoutCpid(above.origin, above.spanId)) {
      store.inheritCpid(child, cpid)
      const { mode } = ctx.settings
      const traces = mode === 'passthrough' ? [] : openTracesOf(ctx, cpid, child.startNs, spanBytes(child))
      for (const trace of traces) {
        placeSpan(ctx, child, { trace, cpid, copy: true, awaited: [] })
      }
      sent = true
      stack.push(child)
    }
  }
  if (sent) ctx.counts.lateParents++
}
