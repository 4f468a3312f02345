import type { LinkedSpan } from '../../model/ports/query-port.ts'
import type { TreeSpan } from './span-tree.ts'

/** A tree without the spans that are being placed and all below them, whose way from the root is not known yet. */
export function placedSpans<Span extends LinkedSpan>(tree: readonly TreeSpan<Span>[]): TreeSpan<Span>[] {
  let leftOutFrom = Infinity
  return tree.filter(({ span, depth }) => {
    if (depth > leftOutFrom) return false
    leftOutFrom = span.beingPlaced === true ? depth : Infinity
    return span.beingPlaced !== true
  })
}
