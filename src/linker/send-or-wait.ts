import type { ArrivedSpan } from '../model/ports/linking/spans.ts'
import type { Waiting } from '../model/ports/linking/waiting.ts'
import { beginToWait, waitsOn, type Waited } from './behind/wait-behind.ts'
import { waitsForWriters } from './behind/awaited-writers.ts'
import { waitsUntil } from './causes/waits.ts'
import { missParent, waitsForParent } from './drives/awaiting.ts'
import { enter, needsChangeSpan } from './entering.ts'
import type { LinkContext } from './link-context.ts'
import { sendSpan } from './send-span.ts'

const NOTHING = { origin: undefined, parentId: undefined, behindUntilMs: undefined }

/**
 * Sends a span, unless its CPID is not explained yet, or what it observed or is to be driven by has not been sent.
 * `dueMs` is until when it has waited for the former.
 */
export function sendOrWait(ctx: LinkContext, span: ArrivedSpan, cpid: number, dueMs?: number): void {
  // Asked first, so that what is missing counts as missed from now on.
  const written = waitsForWriters(ctx, span)
  const explained = ctx.settings.mode === 'links' ? undefined : waitsUntil(ctx, cpid)
  if (explained !== undefined) {
    missParent(ctx, span)
    ctx.waiting.add({ ...NOTHING, arrival: span.row, cpid, kind: 'span' }, explained)
    return
  }
  const awaited = written ?? waitsForParent(ctx, span, cpid)
  if (awaited === undefined) {
    send(ctx, span, cpid)
    return
  }
  const waiting: Waiting = {
    ...NOTHING,
    ...{ arrival: span.row, cpid, kind: written === undefined ? 'parent' : 'cause' },
    ...(written === undefined && { origin: span.origin, parentId: span.parentId }),
  }
  if (dueMs === undefined) beginToWait(ctx, waiting, awaited)
  else if (!waitsOn(ctx, { waiting, dueMs }, span, awaited)) send(ctx, span, cpid)
}

/** Looks whether a span can go that waited for others, and lets it wait on if not. */
export function sendOrWaitOn(ctx: LinkContext, waited: Waited, span: ArrivedSpan, cpid: number): void {
  const awaited =
    waited.waiting.kind === 'cause' ? waitsForWriters(ctx, span) : waitsForParent(ctx, span, cpid)
  if (awaited === undefined || !waitsOn(ctx, waited, span, awaited)) send(ctx, span, cpid)
}

export function send(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  if (ctx.settings.mode === 'passthrough' && needsChangeSpan(ctx, cpid)) enter(ctx, cpid)
  sendSpan(ctx, span, cpid)
}
