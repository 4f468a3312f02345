import type { LinkPorts } from '../../model/ports/linking/link-ports.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'
import { sendCascadeSpan } from '../cascade-span.ts'
import type { LinkContext } from '../link-context.ts'

/** Something of an open trace arrived: it stays open. */
export function noteActivity({ clock, traces }: Pick<LinkPorts, 'clock' | 'traces'>, trace: Trace): void {
  if (!trace.open) return
  trace.lastArrivalMs = clock.activeMs
  trace.lastWallMs = clock.wallMs
  traces.touch(trace)
}

/** A trace goes on with one that was full, for something that is no activity of it: it has been silent for as long. */
export function inheritSilence({ traces }: Pick<LinkPorts, 'traces'>, trace: Trace, full: Trace): void {
  trace.lastArrivalMs = full.lastArrivalMs
  trace.lastWallMs = full.lastWallMs
  trace.dueMs = full.dueMs
  traces.touch(trace)
}

/** Settles open traces whose silence or age has reached its limit; true when more may be due. */
export function settleDue(ctx: LinkContext, limit: number): boolean {
  const { settings } = ctx
  const due = ctx.traces.due(limit)
  for (const trace of due) {
    const dueMs = Math.min(trace.lastArrivalMs + settings.settleAfterMs, trace.openedMs + settings.maxOpenMs)
    if (dueMs <= ctx.clock.activeMs) settle(ctx, trace)
    else {
      trace.dueMs = dueMs
      ctx.traces.touch(trace)
    }
  }
  return due.length === limit
}

/** Ends a trace, and its cascade with it: it takes no more spans. In cascade mode a `cascade` span says so. */
export function settle(ctx: LinkContext, trace: Trace): void {
  if (!trace.open) return
  trace.missing = ctx.traces.countMissing(trace)
  const root = ctx.graph.maybeNode(trace.root)
  if (ctx.settings.mode === 'cascade' && root !== undefined) sendCascadeSpan(ctx, trace, root.cpid)
  end(ctx, trace)
}

/** Ends a full trace. Its cascade goes on in another: what is missing is counted where that settles. */
export function endFull(ctx: LinkContext, trace: Trace): void {
  trace.missing = 0
  end(ctx, trace)
}

function end({ traces, counts }: LinkContext, trace: Trace): void {
  trace.open = false
  counts.settled++
  traces.touch(trace)
}
