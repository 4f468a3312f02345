import {
  type ArrivedSpan,
  AWAITED_FOR_CPID,
  type LinkPorts,
  type ObjectVersion,
  type Waiting,
} from '../model/linking-ports.ts'
import { isSent } from './causes.ts'
import type { LinkContext } from './link-context.ts'

/** When to check a CPID again that has more unexplained ancestors than one round visits. */
const LATER_MS = 100

/** When to check again what waits for a CPID to be explained; undefined when there is nothing left to wait for. */
export function waitsUntil(
  { ancestry, clock }: Pick<LinkContext, 'ancestry' | 'clock'>,
  cpid: number,
): number | undefined {
  const until = ancestry.waitsUntil(cpid)
  return until === 'later' ? clock.activeMs + LATER_MS : until
}

/** Only for a CPID with several roots does it matter which of them drives a span. */
function hasSeveralRoots({ graph, ancestry, settings }: LinkContext, cpid: number): boolean {
  if (settings.mode !== 'cascade') return false
  return (graph.node(cpid).roots ?? ancestry.roots(cpid)).length > 1
}

/** Records that a local parent is missing from now on, if it has not arrived. */
export function missParent(ctx: LinkContext, { parentId, parentRow, origin }: ArrivedSpan): void {
  if (ctx.settings.mode !== 'cascade' || parentId === 0n || isSent(ctx, parentRow)) return
  ctx.parents.add(origin, parentId, AWAITED_FOR_CPID, undefined, true)
}

/** Whether a span with several roots waits for its local parent, which decides which roots drive it. */
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
 * The span that reports a change with several roots, and until when the change waits for it. A change that counted as a root
 * until its mergelog arrived does not wait.
 */
export function waitsForReporter(
  ctx: LinkContext,
  cpid: number,
): { spanId: bigint; until: number } | undefined {
  if (!hasSeveralRoots(ctx, cpid)) return undefined
  const { mergelogs, spans, traces, clock, settings } = ctx
  const reporter = mergelogs.reporterOf(cpid)
  if (reporter === undefined || traces.currentOf(cpid) !== undefined) return undefined
  const row = spans.find(reporter.traceId, reporter.spanId)
  // A span that waits has a limit of its own.
  const until = isThere(ctx, row)
    ? clock.activeMs + Math.max(1, settings.waitMs)
    : reporter.sinceMs + settings.waitMs
  return isSent(ctx, row) || until <= clock.activeMs ? undefined : { spanId: reporter.spanId, until }
}

function isThere({ events }: LinkContext, row: number | undefined): boolean {
  return row !== undefined && events.isLinked(row)
}

/** Writers of lower versions that are checked, if the writer of the observed version is unknown. */
const MOST_BELOW = 4

type WriterPorts = Pick<LinkPorts, 'objects' | 'waiting' | 'spans'>

/**
 * Whether a span waits for the writers of exactly the versions it observed: until all of them were sent, or each has been
 * missing for `wait`. With batching exporters the observer arrives first about half the time. When the wait for one is over, or
 * it belongs to the span's own trace, the writer of the version before is the cause, and may wait itself.
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

/** The writers that a span waits for which have arrived, and which wait themselves or are this span. */
function* writersAhead(ctx: WriterPorts, span: ArrivedSpan, self: number): Iterable<number> {
  for (const version of ctx.objects.versions(span.row, 'observed')) {
    const exact = ctx.objects.writerOf(version)
    const isCause = exact !== undefined && mayCause(ctx, exact, span)
    const writer = isCause ? exact : causeBelow(ctx, span, version)?.row
    if (writer !== undefined && (writer === self || ctx.waiting.hasSpan(writer))) yield writer
  }
}

/** The writer of the highest version below this one that can be the span's cause. */
function causeBelow(
  ctx: WriterPorts,
  span: ArrivedSpan,
  version: ObjectVersion,
): { row: number; version: bigint } | undefined {
  return ctx.objects.writersBelow(version, MOST_BELOW).find(({ row }) => mayCause(ctx, row, span))
}

/** A span of the same original trace is never the cause. */
function mayCause({ spans }: WriterPorts, writer: number, span: ArrivedSpan): boolean {
  return writer !== span.row && spans.span(writer)?.origin !== span.origin
}

/** What a span waits for, besides mergelogs. */
interface Awaited {
  /** Until when a span counts as missing, in up time; in the past when none does. */
  readonly missedUntilMs: number
  /** It waits for a span that has arrived and waits itself. */
  readonly isBehind: boolean
}

/** How a span has waited, and until when at most, in up time. */
export interface Waited {
  readonly waiting: Waiting
  readonly dueMs: number
}

/** Lets a newly arrived span wait for others. */
export function beginToWait(
  { waiting: all, clock, settings }: LinkContext,
  waiting: Waiting,
  { missedUntilMs }: Awaited,
): void {
  const { activeMs } = clock
  all.add(waiting, missedUntilMs > activeMs ? missedUntilMs : activeMs + settings.waitMs)
}

/**
 * Lets a span wait on, or give up in causal order; false when it is to be sent. A span that misses nothing any more, but waits for a
 * span that waits itself, is released by that one. It waits at most as long again as it would have waited
 * for a missing span, after all others that were due have been checked. When spans wait for each other, the first that is
 * checked again gives up.
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
    // Being checked before its time is up is no reason to give up.
    const untilMs = Math.max(dueMs, afterOthersMs) + ctx.settings.waitMs
    ctx.waiting.add({ ...waiting, behindUntilMs: untilMs }, afterOthersMs)
  } else if (behindUntilMs <= activeMs || isInWaitCycle(ctx, span)) return false
  else ctx.waiting.add(waiting, behindUntilMs)
  return true
}

/** Spans that are visited; a larger wait cycle lasts until its time is up. */
const MOST_LOOKED_AT = 64

type CyclePorts = Pick<LinkPorts, 'objects' | 'waiting' | 'spans' | 'events'>

/** Whether a span transitively waits for a span that waits for it, so that neither would ever be sent. */
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
      // A span that still misses something is checked when that wait is over.
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
