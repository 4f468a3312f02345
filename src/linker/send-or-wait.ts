import type { ArrivedSpan } from '../model/ports/linking/spans.ts'
import { waitsForWriters } from './causes/causes.ts'
import { waitsUntil } from './causes/waits.ts'
import { missParent, waitsForParent } from './drives/awaiting.ts'
import { enter, lacksChange } from './entering.ts'
import type { LinkContext } from './link-context.ts'
import { sendSpan } from './send-span.ts'

const NOTHING = { origin: undefined, parentId: undefined }

/** Sends a span, unless its CPID is not explained yet, or what it observed or is to be driven by has not been sent. */
export function sendOrWait(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  // Asked first, so that what is missing counts as missed from now on.
  const written = waitsForWriters(ctx, span)
  const explained = ctx.settings.mode === 'links' ? undefined : waitsUntil(ctx, cpid)
  const until = explained ?? written ?? waitsForParent(ctx, span, cpid)
  if (until === undefined) send(ctx, span, cpid)
  else {
    const waits = { arrival: span.row, cpid }
    if (explained !== undefined) {
      missParent(ctx, span)
      ctx.waiting.add({ ...waits, ...NOTHING, kind: 'span' }, until)
    } else if (written !== undefined) ctx.waiting.add({ ...waits, ...NOTHING, kind: 'cause' }, until)
    else ctx.waiting.add({ ...waits, kind: 'parent', origin: span.origin, parentId: span.parentId }, until)
  }
}

export function send(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  if (ctx.settings.mode === 'passthrough' && lacksChange(ctx, cpid)) enter(ctx, cpid)
  sendSpan(ctx, span, cpid)
}
