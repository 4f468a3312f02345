import type { LinkedSpan } from '../../model/ports/query-port.ts'
import type { TreeSpan } from './span-tree.ts'

/**
 * The way from the top of a trace to the received span that ends last, among those that are activity of it and end by `byNs`: that span, its
 * parent, and so on, the top first. Of several that end at once the deepest is taken. Empty when there is none.
 */
export function criticalPath<Span extends LinkedSpan>(
  tree: readonly TreeSpan<Span>[],
  byNs?: bigint,
): Span[] {
  let last: TreeSpan<Span> | undefined
  for (const at of tree) {
    if (at.span.row === undefined || !at.span.activity || (byNs !== undefined && at.span.endNs > byNs))
      continue
    if (last === undefined || endsLater(at, last)) last = at
  }
  if (last === undefined) return []
  const parents = new Map(tree.map(({ span, parent }) => [span, parent]))
  const path: Span[] = []
  for (let span: Span | undefined = last.span; span !== undefined; span = parents.get(span)) path.push(span)
  return path.reverse()
}

function endsLater(a: TreeSpan, b: TreeSpan): boolean {
  if (a.span.endNs !== b.span.endNs) return a.span.endNs > b.span.endNs
  return a.depth > b.depth
}
