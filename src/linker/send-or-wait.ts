import type { ArrivedSpan } from '../model/ports/linking/spans.ts'
import { waitsForWriters } from './causes/causes.ts'
import { waitsUntil } from './causes/waits.ts'
import { enter, lacksChange } from './entering.ts'
import type { LinkContext } from './link-context.ts'
import { sendSpan } from './send-span.ts'

/** Sends a span, unless its CPID is not explained yet or what it observed has not been sent. */
export function sendOrWait(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  // Asked first, so that what is missing counts as missed from now on.
  const written = waitsForWriters(ctx, span)
  const explained = ctx.settings.mode === 'links' ? undefined : waitsUntil(ctx, cpid)
  const until = explained ?? written
  if (until === undefined) send(ctx, span, cpid)
  else {
    const kind = explained === undefined ? 'cause' : 'span'
    ctx.waiting.add({ arrival: span.row, kind, cpid, origin: undefined, parentId: undefined }, until)
  }
}

export function send(ctx: LinkContext, span: ArrivedSpan, cpid: number): void {
  if (ctx.settings.mode === 'passthrough' && lacksChange(ctx, cpid)) enter(ctx, cpid)
  sendSpan(ctx, span, cpid)
}
