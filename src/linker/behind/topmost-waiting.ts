import type { LinkPorts } from '../../model/ports/linking/link-ports.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import { nearestAbove } from '../causes/nearest-above.ts'

/** How many spans are climbed at most. */
const MOST_CLIMBED = 64

/**
 * The topmost of the spans without a CPID that wait above a span, each for the next one. It is the span itself where they wait
 * in a circle, or where more are above it than are climbed.
 */
export function topmostWaiting(
  ctx: Pick<LinkPorts, 'events' | 'spans' | 'waiting'>,
  span: ArrivedSpan,
): ArrivedSpan {
  let at = span
  for (let climbed = 0; climbed < MOST_CLIMBED; climbed++) {
    const above = nearestAbove(ctx, at)
    const row = above !== 'none' && above.kind === 'awaited' ? above.row : undefined
    const next = row === undefined || !ctx.waiting.hasSpan(row) ? undefined : ctx.spans.span(row)
    if (next === undefined || next.cpid !== undefined) return at
    if (next.row === span.row) return span
    at = next
  }
  return span
}
