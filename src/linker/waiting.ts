import {
  type ArrivedSpan,
  AWAITED_FOR_CPID,
  type LinkPorts,
  type ObjectVersion,
  type Waiting,
} from '../model/linking-ports.ts'
import { isSent } from './causes.ts'
import type { LinkContext, Step } from './link-context.ts'

/** When to ask again about a CPID that has more unexplained ancestors than one round looks at. */
const LATER_MS = 100

/** When to look again at what waits for a CPID to be explained; undefined when nothing is worth waiting for any more. */
export function waitsUntil(
  { ancestry, clock }: Pick<LinkContext, 'ancestry' | 'clock'>,
  cpid: number,
): number | undefined {
  const until = ancestry.waitsUntil(cpid)
  return until === 'later' ? clock.activeMs + LATER_MS : until
}

/** Only where a CPID has several roots does it have to be found out which of them drives a span. */
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

/** Writers below the observed version that are looked at, where nobody else wrote exactly that. */
const MOST_BELOW = 4

type WriterPorts = Pick<LinkPorts, 'objects' | 'waiting' | 'spans'>

/**
 * Whether a span waits for the writers of exactly the versions it observed: until all were sent, or each has been
 * missed for `wait`. With batching exporters the observer comes first about half the time. Where the wait for one is over, or it
 * is of the span's own trace, whoever wrote the version before is the cause, and may wait itself.
 */
export function waitsForWriters(ctx: LinkContext, span: ArrivedSpan): Awaited | undefined {
  const { objects, waiting, clock, settings } = ctx
  if (settings.mode !== 'cascade' || !span.observes || span.parentId !== 0n) return undefined
  let missedUntilMs = 0
  let isBehind = false
  for (const version of objects.versions(span.row, 'observed')) {
    const writer = objects.writerOf(version)
    const isCause = writer !== undefined && mayCause(ctx, writer, span)
    if (isCause && !waiting.hasSpan(writer)) continue
    if (writer === undefined || isCause) {
      const untilMs = objects.awaitWriter(version, span.row) + settings.waitMs
      if (writer === undefined) missedUntilMs = Math.max(missedUntilMs, untilMs)
      isBehind ||= isCause
      if (isCause || untilMs > clock.activeMs) continue
    }
    const below = causeBelow(ctx, span, version)
    if (below === undefined || !waiting.hasSpan(below.row)) continue
    objects.awaitWriter({ ...version, version: below.version }, span.row)
    isBehind = true
  }
  return isBehind || missedUntilMs > clock.activeMs ? { missedUntilMs, isBehind } : undefined
}

/** The writers that a span waits for which are there, and wait themselves or are this one. */
function* writersAhead(ctx: WriterPorts, span: ArrivedSpan, self: number): Iterable<number> {
  for (const version of ctx.objects.versions(span.row, 'observed')) {
    const exact = ctx.objects.writerOf(version)
    const isCause = exact !== undefined && mayCause(ctx, exact, span)
    const writer = isCause ? exact : causeBelow(ctx, span, version)?.row
    if (writer !== undefined && (writer === self || ctx.waiting.hasSpan(writer))) yield writer
  }
}

/** Who wrote the highest version below one, of those that can be the span's cause. */
function causeBelow(
  ctx: WriterPorts,
  span: ArrivedSpan,
  version: ObjectVersion,
): { row: number; version: bigint } | undefined {
  return ctx.objects.writersBelow(version, MOST_BELOW).find(({ row }) => mayCause(ctx, row, span))
}

/** A span of the same original trace is no cause, whatever it wrote. */
function mayCause({ spans }: WriterPorts, writer: number, span: ArrivedSpan): boolean {
  return writer !== span.row && spans.span(writer)?.origin !== span.origin
}

/** What a span waits for, besides mergelogs. */
interface Awaited {
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

/** Spans that are looked at; what waits in a larger circle does so until its time is up. */
const MOST_LOOKED_AT = 64

type CyclePorts = Pick<LinkPorts, 'objects' | 'waiting' | 'spans' | 'events'>

/** Whether a span waits for one that waits for it, on however many ways round, so that none of them could ever go. */
function isInWaitCycle(ctx: CyclePorts, span: ArrivedSpan): boolean {
  const seen = new Set<number>()
  const stack = [span]
  let looked = 0
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    for (const row of ahead(ctx, at, span.row)) {
      if (row === span.row) return true
      if (looked++ === MOST_LOOKED_AT) return false
      if (seen.has(row)) continue
      seen.add(row)
      // Who still misses something is looked at when that is over.
      const next = ctx.waiting.isBehind(row) ? ctx.spans.span(row) : undefined
      if (next !== undefined) stack.push(next)
    }
  }
  return false
}

function ahead(ctx: CyclePorts, span: ArrivedSpan, self: number): Iterable<number> {
  const { parentId, parentRow } = span
  if (parentId === 0n) return writersAhead(ctx, span, self)
  if (parentRow === undefined || !ctx.events.isLinked(parentRow)) return []
  return parentRow === self || ctx.waiting.hasSpan(parentRow) ? [parentRow] : []
}

/** How many spans that waited follow at once, in one call of the linker. */
const MOST_AT_ONCE = 1_000

/** Lets go what waited, after what it waited for: at once, or in one of the next turns where very much follows. */
export function scheduleFollower(ctx: LinkContext, arrival: number, step: Step): void {
  if (ctx.followed++ < MOST_AT_ONCE) ctx.steps.push(step)
  else ctx.waiting.wake(arrival)
}

/** Whether something was left to the next turns. */
export function hasMoreToFollow({ followed }: LinkContext): boolean {
  return followed > MOST_AT_ONCE
}
