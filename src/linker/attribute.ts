import type { ArrivedSpan } from '../model/ports/linking/spans.ts'
import { AWAITED_AFTER_FORWARD, AWAITED_FOR_CPID } from '../model/ports/linking/waiting.ts'
import { nearestAbove } from './causes/nearest-above.ts'
import { awaitChange } from './entering.ts'
import type { LinkContext } from './link-context.ts'
import { mayJoin } from './may-join.ts'
import { sendOrWait } from './send-or-wait.ts'
import { forwardUnattributed } from './send-span.ts'

/** Finds the CPID of a span that carries none: its nearest ancestor's, once that has arrived. */
export function attribute(ctx: LinkContext, span: ArrivedSpan): void {
  const above = span.malformed ? 'none' : nearestAbove(ctx, span)
  if (above === 'none' || (above.kind === 'cpid' && !mayJoin(ctx, span, above.cpid)))
    forwardUnattributed(ctx, span)
  else if (above.kind === 'cpid') {
    ctx.spans.inheritCpid(span, above.cpid)
    awaitChange(ctx, span, above.cpid)
    sendOrWait(ctx, span, above.cpid)
  } else awaitParent(ctx, span, above.parentId)
}

function awaitParent(ctx: LinkContext, span: ArrivedSpan, parentId: bigint): void {
  const { parents, clock, settings } = ctx
  const { origin } = span
  const until = (parents.since(origin, parentId) ?? clock.activeMs) + settings.waitMs
  if (until > clock.activeMs) {
    parents.add(origin, parentId, AWAITED_FOR_CPID, undefined, true)
    ctx.waiting.add({ arrival: span.row, kind: 'orphan', cpid: undefined, origin, parentId }, until)
  } else {
    parents.add(origin, parentId, AWAITED_AFTER_FORWARD, undefined, true)
    forwardUnattributed(ctx, span)
  }
}
