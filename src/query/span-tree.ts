import type { LinkedSpan } from '../model/query-port.ts'

/** A span with its place in the tree. */
export interface TreeSpan {
  readonly span: LinkedSpan
  /** 0 for the root. */
  readonly depth: number
  /** The span it stands under. */
  readonly parent: LinkedSpan | undefined
  /** Its parent has not arrived, was pruned, or lies below it: it stands at the top. */
  readonly parentMissing: boolean
}

/**
 * The spans of one trace as a tree, parents before children, children by start. A parent that is not there and a loop
 * are ordinary: every span comes exactly once. Does not recurse, whatever the depth.
 */
export function spanTree(spans: readonly LinkedSpan[]): TreeSpan[] {
  const byId = new Map<bigint, LinkedSpan>()
  for (const span of spans) if (!byId.has(span.spanId)) byId.set(span.spanId, span)
  const children = childrenByParent(spans, byId)
  const placed = new Set<LinkedSpan>()
  const tree: TreeSpan[] = []

  const placeBelow = (top: LinkedSpan): void => {
    const stack: TreeSpan[] = [{ span: top, depth: 0, parent: undefined, parentMissing: top.parentId !== 0n }]
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
function childrenByParent(
  spans: readonly LinkedSpan[],
  byId: ReadonlyMap<bigint, LinkedSpan>,
): Map<bigint, LinkedSpan[]> {
  const children = new Map<bigint, LinkedSpan[]>()
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
