import type { Waiting } from '../model/ports/linking/waiting.ts'
import { attribute } from './attribute.ts'
import { follow } from './behind/follow.ts'
import { waitsUntil } from './causes/waits.ts'
import { waitsForReporter } from './drives/awaiting.ts'
import { enter } from './entering.ts'
import type { LinkContext } from './link-context.ts'
import { sendOrWait, sendOrWaitOn } from './send-or-wait.ts'

/** Everything that waited for this CPID looks again, if that waits for nothing more; its change no more once it has entered. */
export function release(ctx: LinkContext, cpid: number, hasEntered: boolean): void {
  if (waitsUntil(ctx, cpid) !== undefined) return
  for (const waiting of ctx.waiting.forCpid(cpid)) {
    if (hasEntered && waiting.kind === 'change') ctx.waiting.remove(waiting.arrival)
    else if (!isForSpan(waiting)) follow(ctx, waiting.arrival, { kind: 'waited', waiting })
  }
  if (!ctx.settings.logs) return
  for (const row of ctx.logs.waitingForCpid(cpid)) ctx.steps.push({ kind: 'waited log', row })
}

/** It is let go by the spans that it waits for, not by its CPID. */
function isForSpan({ kind, parentId }: Waiting): boolean {
  return kind === 'cause' || kind === 'parent' || (kind === 'change' && parentId !== undefined)
}

/** Looks whether what has waited can go, and lets it wait on if not. */
export function lookAgain(ctx: LinkContext, waiting: Waiting): void {
  const dueMs = ctx.waiting.untilOf(waiting.arrival)
  if (waiting.kind === 'join') ctx.joins.stopAwaiting(waiting.arrival)
  // One looked at before in this round may have let it go already.
  if (dueMs === undefined) return
  ctx.waiting.remove(waiting.arrival)
  if (waiting.kind === 'orphan' || waiting.kind === 'join') {
    const span = ctx.spans.span(waiting.arrival)
    if (span !== undefined) attribute(ctx, span, { waiting, dueMs })
    return
  }
  const { cpid } = waiting
  if (cpid === undefined) return
  const until = waitsUntil(ctx, cpid)
  if (until !== undefined) ctx.waiting.add(waiting, until)
  else if (waiting.kind === 'change') {
    // A mergelog that is stored but not heard of yet enters the change itself.
    const mergelog = ctx.mergelogs.find(cpid)
    if (mergelog !== undefined && !ctx.events.isLinked(mergelog.arrival)) return
    const teller = mergelog && waitsForReporter(ctx, cpid)
    if (teller === undefined) enter(ctx, cpid)
    else ctx.waiting.add({ ...waiting, parentId: teller.spanId }, teller.until)
  } else {
    const span = ctx.spans.span(waiting.arrival)
    if (span === undefined) return
    if (waiting.kind === 'cause' || waiting.kind === 'parent')
      sendOrWaitOn(ctx, { waiting, dueMs }, span, cpid)
    else sendOrWait(ctx, span, cpid, dueMs)
  }
}
