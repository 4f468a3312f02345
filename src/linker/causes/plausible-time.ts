import { nanosOfMs, type UnixNanos } from '../../model/clock.ts'
import type { StoredMergelog } from '../../model/ports/linking/changes.ts'
import type { Trace } from '../../model/ports/linking/traces.ts'
import type { LinkContext, PlausibleRange } from '../link-context.ts'

/** When Kubernetes was first released: clocks that start at 1970 or 2000 are before it. */
export const NO_CLUSTER_BEFORE: UnixNanos = nanosOfMs(Date.UTC(2014, 5, 6))
/** How far a sender's clock may be ahead. */
const AHEAD_MS = 600_000
/** How long before its arrival activity may lie, besides what a trace stays open. */
const BEHIND_MS = 86_400_000

/**
 * What to make of a time that a sender gave:
 * - plausible: up to `max_open` and a day before its arrival, or up to ten minutes after it;
 * - old: before that. It counts as long as a trace has nothing better: late delivery and recordings are consistent in
 *   themselves;
 * - impossible: in the future, or before there was Kubernetes. It never counts.
 */
export type Plausibility = 'plausible' | 'old' | 'impossible'

export function plausibleRange(ctx: LinkContext): PlausibleRange {
  const { settings, clock } = ctx
  return (ctx.plausible ??= {
    fromNs: nanosOfMs(clock.wallMs - settings.maxOpenMs - BEHIND_MS),
    toNs: nanosOfMs(clock.wallMs + AHEAD_MS),
  })
}

export function plausibilityOf(ns: UnixNanos, { fromNs, toNs }: PlausibleRange): Plausibility {
  if (ns < NO_CLUSTER_BEFORE || ns > toNs) return 'impossible'
  return ns < fromNs ? 'old' : 'plausible'
}

/** When activity that arrives now took place: by the sender where that is possible, else now. */
export function possibleTime(ctx: LinkContext, ns: UnixNanos): UnixNanos {
  return plausibilityOf(ns, plausibleRange(ctx)) === 'impossible' ? nanosOfMs(ctx.clock.wallMs) : ns
}

/**
 * When the trace of a root begins: with the earliest of what is told and of the root's spans that are known, so that none of
 * those begins before it.
 */
export function openingTime(ctx: LinkContext, root: number, told: readonly UnixNanos[]): UnixNanos {
  const range = plausibleRange(ctx)
  const within = (from: UnixNanos, to: UnixNanos): UnixNanos | undefined => {
    const inside = told.filter((ns) => ns >= from && ns <= to)
    const first = ctx.spans.firstStart(root, from, to)
    if (first !== undefined) inside.push(first)
    return inside.reduce<UnixNanos | undefined>(
      (least, ns) => (least === undefined || ns < least ? ns : least),
      undefined,
    )
  }
  return (
    within(range.fromNs, range.toNs) ?? within(NO_CLUSTER_BEFORE, range.toNs) ?? nanosOfMs(ctx.clock.wallMs)
  )
}

/** True when a trace that begins then has no plausible time yet. */
export function lacksPlausibleTime(ctx: LinkContext, openedNs: UnixNanos): boolean {
  return plausibilityOf(openedNs, plausibleRange(ctx)) === 'old'
}

/** What the mergelog of a change says of when it was. */
export function noteChange(ctx: LinkContext, trace: Trace, mergelog: StoredMergelog | undefined): void {
  if (mergelog === undefined) return
  const { timeNs } = mergelog
  if (plausibilityOf(timeNs, plausibleRange(ctx)) === 'impossible') trace.clockSkew = true
}

/** Activity of a trace lay between these times; those that arrival makes implausible stay out of its bounds. */
export function extendBounds(ctx: LinkContext, trace: Trace, startNs: UnixNanos, endNs: UnixNanos): void {
  const range = plausibleRange(ctx)
  if (!trace.doubtfulTimes && startNs >= range.fromNs && startNs <= endNs && endNs <= range.toNs) {
    if (startNs < trace.firstNs) trace.firstNs = startNs
    if (endNs > trace.lastNs) trace.lastNs = endNs
    return
  }
  if (endNs < startNs) trace.clockSkew = true
  for (const ns of endNs < startNs ? [startNs] : [startNs, endNs]) {
    const plausibility = plausibilityOf(ns, range)
    const isBetter = trace.doubtfulTimes && plausibility === 'plausible'
    if (isBetter) {
      trace.doubtfulTimes = false
      trace.firstNs = ns
      trace.lastNs = ns
    }
    if (plausibility === 'plausible' || (plausibility === 'old' && trace.doubtfulTimes)) {
      if (ns < trace.firstNs) trace.firstNs = ns
      if (ns > trace.lastNs) trace.lastNs = ns
      if (isBetter) trace.clockSkew = true
    } else trace.clockSkew = true
  }
}
