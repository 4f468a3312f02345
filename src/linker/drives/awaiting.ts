import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import { AWAITED_FOR_CPID } from '../../model/ports/linking/waiting.ts'
import type { Awaited } from '../behind/wait-behind.ts'
import type { LinkContext } from '../link-context.ts'
import { isSent } from './drivers.ts'

/** What has one root needs nobody to say what drives it. */
function hasSeveralRoots({ graph, ancestry, settings }: LinkContext, cpid: number): boolean {
  if (settings.mode !== 'cascade') return false
  return (graph.node(cpid).roots ?? ancestry.roots(cpid)).length > 1
}

/** A local parent that is not there counts as missed from now on. */
export function missParent(ctx: LinkContext, { parentId, parentRow, origin }: ArrivedSpan): void {
  if (ctx.settings.mode !== 'cascade' || parentId === 0n || isSent(ctx, parentRow)) return
  ctx.parents.add(origin, parentId, AWAITED_FOR_CPID, undefined, true)
}

/** Whether a span of several roots waits for its local parent, which says what drives it. */
export function waitsForParent(ctx: LinkContext, span: ArrivedSpan, cpid: number): Awaited | undefined {
  const { parentId, parentRow, origin } = span
  if (parentId === 0n || !hasSeveralRoots(ctx, cpid) || isSent(ctx, parentRow)) return undefined
  const { parents, clock, settings } = ctx
  const isBehind = isThere(ctx, parentRow)
  const missedUntilMs = isBehind ? 0 : (parents.since(origin, parentId) ?? clock.activeMs) + settings.waitMs
  if (!isBehind && missedUntilMs <= clock.activeMs) return undefined
  parents.add(origin, parentId, AWAITED_FOR_CPID, undefined, true)
  return { missedUntilMs, isBehind }
}

/**
 * For which span, and until when, a change of several roots waits that told of it. One that counted as a root until its
 * mergelog came waits for nobody.
 */
export function waitsForReporter(
  ctx: LinkContext,
  cpid: number,
): { spanId: bigint; until: number } | undefined {
  if (!hasSeveralRoots(ctx, cpid)) return undefined
  const { mergelogs, spans, traces, clock, settings } = ctx
  const told = mergelogs.toldBy(cpid)
  if (told === undefined || traces.currentOf(cpid) !== undefined) return undefined
  const row = spans.find(told.traceId, told.spanId)
  // What a span waits for has a limit of its own.
  const until = isThere(ctx, row)
    ? clock.activeMs + Math.max(1, settings.waitMs)
    : told.sinceMs + settings.waitMs
  return isSent(ctx, row) || until <= clock.activeMs ? undefined : { spanId: told.spanId, until }
}

function isThere({ events }: LinkContext, row: number | undefined): boolean {
  return row !== undefined && events.isLinked(row)
}
