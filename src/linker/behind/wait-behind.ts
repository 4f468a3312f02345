import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import type { Waiting } from '../../model/ports/linking/waiting.ts'
import type { LinkContext } from '../link-context.ts'
import { isKnotted } from './knots.ts'

/** What a span waits for, besides mergelogs. */
export interface Awaited {
  /** Until when a span is missed, in up time; a moment that has passed when none is. */
  readonly missedUntilMs: number
  /** A span that it waits for is there, and waits itself. */
  readonly isBehind: boolean
}

/** A span that has just come waits for others. */
export function beginToWait(
  { waiting: all, clock, settings }: LinkContext,
  waiting: Waiting,
  { missedUntilMs }: Awaited,
): void {
  const { activeMs } = clock
  all.add(waiting, missedUntilMs > activeMs ? missedUntilMs : activeMs + settings.waitMs)
}

/**
 * Spans give up in causal order: who misses nothing any more but waits for a span that waits itself goes behind that, and
 * is let go by it. So it waits as long again at most, after all others that were due have been looked at; where spans wait for
 * each other, the first to be looked at again gives up. False when it is to go.
 */
export function waitsOn(ctx: LinkContext, waiting: Waiting, span: ArrivedSpan, awaited: Awaited): boolean {
  const { activeMs } = ctx.clock
  const { behindUntilMs } = waiting
  if (awaited.missedUntilMs > activeMs) ctx.waiting.add(waiting, awaited.missedUntilMs)
  else if (behindUntilMs === undefined) {
    const afterOthersMs = activeMs + 1
    ctx.waiting.add({ ...waiting, behindUntilMs: afterOthersMs + ctx.settings.waitMs }, afterOthersMs)
  } else if (behindUntilMs <= activeMs || isKnotted(ctx, span)) return false
  else ctx.waiting.add(waiting, behindUntilMs)
  return true
}
