import type { ArrivedSpan } from '../model/ports/linking/spans.ts'
import { attribute } from './attribute.ts'
import { waitsUntil } from './causes/waits.ts'
import { waitsForReporter } from './drives/awaiting.ts'
import { awaitChange, enter, waitToEnter } from './entering.ts'
import type { LinkContext } from './link-context.ts'
import { release } from './release.ts'
import { sendOrWait } from './send-or-wait.ts'

export function handleSpan(ctx: LinkContext, span: ArrivedSpan): void {
  if (span.repeated) {
    ctx.spans.removeRepeated(span)
    ctx.counts.duplicateSpans++
  } else if (span.cpid === undefined) attribute(ctx, span)
  else {
    awaitChange(ctx, span, span.cpid)
    sendOrWait(ctx, span, span.cpid)
  }
}

export function handleMergelog(ctx: LinkContext, arrival: number, cpid: number): void {
  if (isPruned(ctx, cpid)) return
  if (ctx.traces.ofRoot(cpid).some((trace) => trace.provisional && trace.rootSent)) ctx.counts.lateMergelogs++
  const until = waitsUntil(ctx, cpid)
  const teller = until === undefined ? waitsForReporter(ctx, cpid) : undefined
  if (until !== undefined) waitToEnter(ctx, arrival, cpid, until)
  else if (teller !== undefined) waitToEnter(ctx, arrival, cpid, teller.until, teller.spanId)
  else enter(ctx, cpid)
  release(ctx, cpid, until === undefined && teller === undefined)
}

export function handleExplained(ctx: LinkContext, cpid: number): void {
  if (!isPruned(ctx, cpid)) release(ctx, cpid, false)
}

/** Pruned between arriving and being linked, as `max_bytes` may force it; its tombstone may be gone as well. */
function isPruned({ graph }: LinkContext, cpid: number): boolean {
  return graph.maybeNode(cpid)?.pruned !== false
}
