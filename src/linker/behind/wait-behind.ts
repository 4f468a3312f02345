import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import type { Waiting } from '../../model/ports/linking/waiting.ts'
import type { LinkContext } from '../link-context.ts'
import { isInWaitCycle } from './wait-cycles.ts'

/** What a span waits for, besides mergelogs. */
export interface Awaited {
  /** Until when a span is missed, in up time; a moment that has passed when none is. */
  readonly missedUntilMs: number
  /** A span that it waits for is there, and waits itself. */
  readonly isBehind: boolean
}

/** What a span has waited as, and until when at most, in up time. */
export interface Waited {
  readonly waiting: Waiting
  readonly dueMs: number
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
 * is let go by it. So it waits as long again at most as it would have waited for what was missing, after all others that were due
 * have been looked at; where spans wait for each other, the first to be looked at again gives up. False when it is to go.
 */
export function waitsOn(
  ctx: LinkContext,
  { waiting, dueMs }: Waited,
  span: ArrivedSpan,
  awaited: Awaited,
): boolean {
  const { activeMs } = ctx.clock
  const { behindUntilMs } = waiting
  if (awaited.missedUntilMs > activeMs) ctx.waiting.add(waiting, awaited.missedUntilMs)
  else if (behindUntilMs === undefined) {
    const afterOthersMs = activeMs + 1
    // What lets it look around before its time is up is no reason to give up sooner.
    const untilMs = Math.max(dueMs, afterOthersMs) + ctx.settings.waitMs
    ctx.waiting.add({ ...waiting, behindUntilMs: untilMs }, afterOthersMs)
  } else if (behindUntilMs <= activeMs || isInWaitCycle(ctx, span)) return false
  else ctx.waiting.add(waiting, behindUntilMs)
  return true
}
