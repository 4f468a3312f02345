import type { CrossTraceSpan, LinkedSpan, TraceFacts } from '../model/queries.ts'
import { parseRfc3339 } from '../model/time-and-size.ts'

/** A span with its position in the tree. */
export interface TreeSpan<Span extends LinkedSpan = LinkedSpan> {
  readonly span: Span
  /** 0 for the root. */
  readonly depth: number
  /** The parent in the tree. */
  readonly parent: Span | undefined
  /** Whether the span is a root of the tree because its parent has not arrived, was pruned, or is a descendant of it. */
  readonly parentMissing: boolean
}

/**
 * The spans of a trace as a tree, parents before children, children ordered by start. Each span comes exactly once, even if parents are
 * missing or form a cycle. Does not recurse, so any depth is safe.
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

/** Children by parent id, the latest first: the order in which they are pushed on a stack. */
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

/** The self time and waiting time of a span. */
export interface SpanTimes {
  /** The duration of the span, minus the time covered by children that are part of its own work. */
  readonly selfNs: bigint
  /** From the end of the write that the span observed to its start; 0n if that write is unknown. */
  readonly waitNs: bigint
}

/** The times of the spans of a trace. A child counts as a span's work unless the span only caused it, or its parent is undecided. */
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

/** When the write that a span observed ended; undefined if that is unknown. */
export function waitedFromNs({ span, parent }: Pick<TreeSpan, 'span' | 'parent'>): bigint | undefined {
  return span.byCause ? (span.above?.endNs ?? parent?.endNs) : undefined
}

/** The duration of a span; 0n if clocks make it negative. */
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

/** The length of a union of intervals. */
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

/** A span of a cascade whose copies in several traces have been merged. `spanId` and `parentId` are numbers within the cascade. */
export interface FoldedSpan extends LinkedSpan {
  readonly part: TraceFacts
  /** The span id with which it was sent. */
  readonly sentId: bigint
  readonly sentParentId: bigint
}

/** The parent id of a span whose parent is missing. */
const MISSING = -1n

/**
 * Merges the traces into which a cascade was divided because they were full. Copies of a span in several of them become one span, and so do
 * the spans of a CPID's change and the roots. A span whose local parent or cause is in another trace becomes its child. Causeway's own
 * spans about the division are left out.
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

  /** `parts`: the traces, in the order in which they were filled. */
  constructor(parts: readonly TraceFacts[]) {
    this.#last = parts.at(-1)
    this.#isDivided = parts.length > 1
    this.#startNs = parts.reduce((first, { startNs }) => (startNs < first ? startNs : first), MOST_NS)
  }

  /** Adds the spans of a trace. Call it for the traces in the order of `parts`. */
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

  /** The merged spans in the order in which they were sent. A parent id is 0n for a root, and MISSING if the parent is missing. */
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

  /** Whether this copy of a span was sent before the copy that is kept. Unsent copies come last. */
  #isSentBefore(span: LinkedSpan, known: bigint): boolean {
    const decision = this.#spans[Number(known) - 1]?.decision ?? 0
    return span.decision > 0 && (decision < 0 || span.decision < decision)
  }

  /** The number of the copy that was added before; undefined if there is none. */
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

  /** Whether a span of Causeway only says that a part ended or continues another. */
  #isDivision({ row, name }: LinkedSpan, part: TraceFacts): boolean {
    if (row !== undefined || !this.#isDivided) return false
    return name === 'cascade' || (name === 'continued in' && part !== this.#last)
  }

  /** The span of a change with the time of the change itself: the copy in a trace that began later has a later time. */
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
