import type { LinkedSpan } from '../model/query-port.ts'
import { notBelowZero } from './span-times.ts'
import type { TreeSpan } from './span-tree.ts'

export interface PathSpan {
  readonly span: LinkedSpan
  /** From the end of what it came after to its start; 0n within one piece of work. */
  readonly waitNs: bigint
}

/**
 * The way from the top of a trace to the received span that ends last, among those that end by `byNs`: that span, its
 * parent, and so on, the top first. Of several that end at once the deepest is taken. Empty when there is none.
 */
export function criticalPath(tree: readonly TreeSpan[], byNs?: bigint): PathSpan[] {
  let last: TreeSpan | undefined
  for (const at of tree) {
    if (at.span.row === undefined || (byNs !== undefined && at.span.endNs > byNs)) continue
    if (last === undefined || endsLater(at, last)) last = at
  }
  if (last === undefined) return []
  const parents = new Map(tree.map(({ span, parent }) => [span, parent]))
  const path: PathSpan[] = []
  for (let span: LinkedSpan | undefined = last.span; span !== undefined;) {
    const parent: LinkedSpan | undefined = parents.get(span)
    const cameAfter = parent !== undefined && (span.byCause || parent.row === undefined)
    path.push({ span, waitNs: cameAfter ? notBelowZero(span.startNs - parent.endNs) : 0n })
    span = parent
  }
  return path.reverse()
}

function endsLater(a: TreeSpan, b: TreeSpan): boolean {
  if (a.span.endNs !== b.span.endNs) return a.span.endNs > b.span.endNs
  return a.depth > b.depth
}
