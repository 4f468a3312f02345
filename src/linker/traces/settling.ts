import type { Trace } from '../../model/ports/link-port.ts'
import { sendCascadeSpan } from '../cascade-span.ts'
import type { LinkContext } from '../link-context.ts'

/** Something of an open trace arrived: it stays open. */
export function noteActivity({ store }: LinkContext, trace: Trace): void {
  if (!trace.open) return
  trace.lastArrivalMs = store.activeMs
  trace.lastWallMs = store.wallMs
  store.touch(trace)
}

/** Settles open traces whose silence or age has reached its limit; true when more may be due. */
export function settleDue(ctx: LinkContext, limit: number): boolean {
  const { store, settings } = ctx
  const due = store.dueTraces(limit)
  for (const trace of due) {
    const dueMs = Math.min(trace.lastArrivalMs + settings.settleAfterMs, trace.openedMs + settings.maxOpenMs)
    if (dueMs <= store.activeMs) settle(ctx, trace)
    else {
      trace.dueMs = dueMs
      store.touch(trace)
    }
  }
  return due.length === limit
}

/** Ends a trace, and its cascade with it: it takes no more spans. In cascade mode a `cascade` span says so. */
export function settle(ctx: LinkContext, trace: Trace): void {
  if (!trace.open) return
  trace.missing = ctx.store.countMissing(trace)
  const root = ctx.graph.maybeNode(trace.root)
  if (ctx.settings.mode === 'cascade' && root !== undefined) sendCascadeSpan(ctx, trace, root.cpid)
  end(ctx, trace)
}

/** Ends a full trace. Its cascade goes on in another: what is missing is counted where that settles. */
export function endFull(ctx: LinkContext, trace: Trace): void {
  trace.missing = 0
  end(ctx, trace)
}

function end({ store, counts }: LinkContext, trace: Trace): void {
  trace.open = false
  counts.settled++
  store.touch(trace)
}
