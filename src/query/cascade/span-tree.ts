import type { LinkedSpan } from '../../model/ports/query-port.ts'

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
  const children = new Map<bigint, Span[]>()
  for (const span of spans) {
    if (span.parentId === 0n || !byId.has(span.parentId)) continue
    const siblings = children.get(span.parentId)
    if (siblings === undefined) children.set(span.parentId, [span])
    else siblings.push(span)
  }
  for (const siblings of children.values()) siblings.reverse().sort((a, b) => laterLast(b, a))
  return children
}

function laterLast(a: LinkedSpan, b: LinkedSpan): number {
  return a.startNs < b.startNs ? -1 : a.startNs > b.startNs ? 1 : 0
}
