import type { LinkedSpan } from '../../model/ports/query-port.ts'
import type { TreeSpan } from './span-tree.ts'

/** Where the time of one span went. */
export interface SpanTimes {
  /** Its duration without the time that spans below it, of its own work, cover. */
  readonly selfNs: bigint
  /** From the end of the span that wrote what it observed to its start; 0n where that is not known. */
  readonly waitNs: bigint
}

/** The times of the spans of one trace. A span that another one caused is not that one's own work; one that is being placed is nobody's yet. */
export function spanTimes(tree: readonly TreeSpan[]): Map<LinkedSpan, SpanTimes> {
  const covered = new Map<LinkedSpan, Interval[]>()
  for (const { span, parent } of tree) {
    if (parent === undefined || span.byCause || span.row === undefined || span.beingPlaced === true) continue
    const start = later(span.startNs, parent.startNs)
    const end = earlier(span.endNs, parent.endNs)
    if (end <= start) continue
    const intervals = covered.get(parent)
    if (intervals === undefined) covered.set(parent, [{ start, end }])
    else intervals.push({ start, end })
  }
  const times = new Map<LinkedSpan, SpanTimes>()
  for (const { span, parent } of tree) {
    const waitNs = notBelowZero(span.startNs - (waitedFromNs({ span, parent }) ?? span.startNs))
    times.set(span, { selfNs: durationNs(span) - lengthOf(covered.get(span)), waitNs })
  }
  return times
}

/** When the write ended that a span observed; undefined where that is not known. */
export function waitedFromNs({ span, parent }: Pick<TreeSpan, 'span' | 'parent'>): bigint | undefined {
  return span.byCause ? (span.above?.endNs ?? parent?.endNs) : undefined
}

/** Never below zero, whatever clocks say. */
export function durationNs({ startNs, endNs }: Pick<LinkedSpan, 'startNs' | 'endNs'>): bigint {
  return notBelowZero(endNs - startNs)
}

export function notBelowZero(ns: bigint): bigint {
  return ns > 0n ? ns : 0n
}

interface Interval {
  start: bigint
  end: bigint
}

/** How long a union of intervals is. */
function lengthOf(intervals: readonly Interval[] = []): bigint {
  let total = 0n
  let until: bigint | undefined
  for (const { start, end } of intervals.toSorted((a, b) => (a.start < b.start ? -1 : 1))) {
    if (until === undefined || start > until) total += end - start
    else if (end > until) total += end - until
    if (until === undefined || end > until) until = end
  }
  return total
}

function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

function earlier(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
