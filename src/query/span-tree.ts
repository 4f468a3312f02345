import type { CrossTraceSpan, LinkedSpan, TraceFacts } from '../model/queries.ts'
import { parseRfc3339 } from '../model/time-and-size.ts'

/** A span with its place in the tree. */
export interface TreeSpan<Span extends LinkedSpan = LinkedSpan> {
  readonly span: Span
  /** 0 for the root. */
  readonly depth: number
  /** The span it stands under. */
  readonly parent: Span | undefined
  /** Its parent has not arrived, was pruned, or lies below it: it stands at the top. */
  readonly parentMissing: boolean
}

/**
 * The spans of one trace as a tree, parents before children, children by start. A parent that is not there and a loop
 * are ordinary: every span comes exactly once. Does not recurse, whatever the depth.
 */
export function spanTree<Span extends LinkedSpan>(spans: readonly Span[]): TreeSpan<Span>[] {
  const byId = new Map<bigint, Span>()
  for (const span of spans) if (!byId.has(span.spanId)) byId.set(span.spanId, span)
  const children = childrenByParent(spans, byId)
  const placed = new Set<Span>()
  const tree: TreeSpan<Span>[] = []

  const placeBelow = (top: Span): void => {
    const stack: TreeSpan<Span>[] = [
      { span: top, depth: 0, parent: undefined, parentMissing: top.parentId !== 0n },
    ]
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      const { span, depth } = at
      if (placed.has(span)) continue
      placed.add(span)
      tree.push(at)
      if (byId.get(span.spanId) !== span) continue
      for (const child of children.get(span.spanId) ?? []) {
        stack.push({ span: child, depth: depth + 1, parent: span, parentMissing: false })
      }
    }
  }

  const inTime = spans.toSorted(laterLast)
  for (const span of inTime) if (span.parentId === 0n) placeBelow(span)
  for (const span of inTime) if (!byId.has(span.parentId)) placeBelow(span)
  for (const span of inTime) placeBelow(span)
  return tree
}

/** Children latest first, as a stack wants them. */
function childrenByParent<Span extends LinkedSpan>(
  spans: readonly Span[],
  byId: ReadonlyMap<bigint, Span>,
): Map<bigint, Span[]> {
  const below = spans.filter(({ parentId }) => parentId !== 0n && byId.has(parentId))
  const children = Map.groupBy(below, ({ parentId }) => parentId)
  for (const siblings of children.values()) siblings.reverse().sort((a, b) => laterLast(b, a))
  return children
}

function laterLast(a: LinkedSpan, b: LinkedSpan): number {
  return a.startNs < b.startNs ? -1 : a.startNs > b.startNs ? 1 : 0
}

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

function notBelowZero(ns: bigint): bigint {
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

export function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

export function earlier(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

/** A span of a cascade that may be in several traces. `spanId` and `parentId` are numbers within the cascade. */
export interface FoldedSpan extends LinkedSpan {
  readonly part: TraceFacts
  /** As sent. */
  readonly sentId: bigint
  readonly sentParentId: bigint
}

/** A parent that is not there. */
const MISSING = -1n

/**
 * Makes one trace again of the traces that a cascade was divided into because they were full. A span that stands in
 * several of them is one, as is a CPID's change and the root; a span whose local parent or cause is in another trace hangs
 * under it. What Causeway says in its own spans about the division is left out.
 */
export class CascadeFold {
  readonly #last: TraceFacts | undefined
  readonly #isDivided: boolean
  readonly #startNs: bigint
  readonly #spans: FoldedSpan[] = []
  readonly #byRow = new Map<number, bigint>()
  readonly #changes = new Map<string, bigint>()
  readonly #bySpanId = new Map<number, Map<bigint, bigint>>()
  #root: bigint | undefined

  /** The traces in the order in which they were filled. */
  constructor(parts: readonly TraceFacts[]) {
    this.#last = parts.at(-1)
    this.#isDivided = parts.length > 1
    this.#startNs = parts.reduce((first, { startNs }) => (startNs < first ? startNs : first), MOST_NS)
  }

  /** Adds the spans of a trace, trace by trace in the order of the parts. */
  add(part: TraceFacts, spans: readonly LinkedSpan[]): void {
    const bySpanId = new Map<bigint, bigint>()
    const isFirst = this.#bySpanId.size === 0
    this.#bySpanId.set(part.id, bySpanId)
    for (const span of spans) {
      if (this.#isDivision(span, part)) continue
      const known = this.#known(span, isFirst)
      const id = known ?? BigInt(this.#spans.length + 1)
      if (!bySpanId.has(span.spanId)) bySpanId.set(span.spanId, id)
      if (known === undefined) this.#remember(span, id)
      else if (!this.#isSentBefore(span, known)) continue
      this.#spans[Number(id) - 1] = {
        ...this.#inTime(span, isFirst),
        spanId: id,
        sentId: span.spanId,
        sentParentId: span.parentId,
        part,
      }
    }
  }

  /** Every span once, as they were sent, with its parent in the cascade: 0n for none, another one for one that is not there. */
  spans(): FoldedSpan[] {
    for (const [at, span] of this.#spans.entries()) {
      this.#spans[at] = { ...span, parentId: this.#parentOf(span) }
    }
    return this.#spans.toSorted((a, b) => a.decision - b.decision)
  }

  #parentOf({ above, parentId, part }: FoldedSpan): bigint {
    const elsewhere = above === undefined ? undefined : this.#find(above)
    if (elsewhere !== undefined) return elsewhere
    return parentId === 0n ? 0n : (this.#bySpanId.get(part.id)?.get(parentId) ?? MISSING)
  }

  #find({ trace, row, spanId }: CrossTraceSpan): bigint | undefined {
    if (row !== undefined) return this.#byRow.get(row)
    return spanId === undefined ? undefined : this.#bySpanId.get(trace)?.get(spanId)
  }

  /** A span that stands in several traces is what it is where it was sent first, if it was sent. */
  #isSentBefore(span: LinkedSpan, known: bigint): boolean {
    const decision = this.#spans[Number(known) - 1]?.decision ?? 0
    return span.decision > 0 && (decision < 0 || span.decision < decision)
  }

  /** The number of the one that a span is the same as. */
  #known(span: LinkedSpan, isFirst: boolean): bigint | undefined {
    if (span.row !== undefined) return this.#byRow.get(span.row)
    if (span.parentId === 0n) return isFirst ? undefined : this.#root
    return isChange(span) ? this.#changes.get(span.cpid) : undefined
  }

  #remember(span: LinkedSpan, id: bigint): void {
    if (span.row !== undefined) this.#byRow.set(span.row, id)
    else {
      if (span.parentId === 0n) this.#root ??= id
      if ((span.parentId === 0n || isChange(span)) && span.cpid !== undefined)
        this.#changes.set(span.cpid, id)
    }
  }

  /** True for a span that says that a trace ended or goes on, where it is but one part. */
  #isDivision({ row, name }: LinkedSpan, part: TraceFacts): boolean {
    if (row !== undefined || !this.#isDivided) return false
    return name === 'cascade' || (name === 'continued in' && part !== this.#last)
  }

  /** A change is stamped inside the trace that it was sent into, which may have begun after it. */
  #inTime(span: LinkedSpan, isFirst: boolean): LinkedSpan {
    const ns = isFirst || !isChange(span) ? undefined : parseRfc3339(span.time ?? '')
    if (ns === undefined) return span
    const happened = ns < this.#startNs ? this.#startNs : ns
    if (happened >= span.startNs) return span
    return { ...span, startNs: happened, endNs: happened + (span.endNs - span.startNs) }
  }
}

const MOST_NS = 2n ** 63n - 1n

function isChange(span: LinkedSpan): span is LinkedSpan & { cpid: string } {
  const { row, name, cpid } = span
  return (
    row === undefined &&
    cpid !== undefined &&
    (name === 'merge' || name === 'change' || name.startsWith('change '))
  )
}
