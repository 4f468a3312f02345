import type { LinkPorts } from '../../model/ports/linking/link-ports.ts'
import type { ArrivedSpan } from '../../model/ports/linking/spans.ts'
import { writersAhead } from './awaited-writers.ts'

/** Spans that are looked at; what waits in a larger circle does so until its time is up. */
const MOST_LOOKED_AT = 64

type Asked = Pick<LinkPorts, 'objects' | 'waiting' | 'spans' | 'events'>

/** Whether a span waits for one that waits for it, on however many ways round, so that none of them could ever go. */
export function isInWaitCycle(ctx: Asked, span: ArrivedSpan): boolean {
  const seen = new Set<number>()
  const stack = [span]
  let looked = 0
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    for (const row of ahead(ctx, at, span.row)) {
      if (row === span.row) return true
      if (looked++ === MOST_LOOKED_AT) return false
      if (seen.has(row)) continue
      seen.add(row)
      // Who still misses something is looked at when that is over.
      const next = ctx.waiting.isBehind(row) ? ctx.spans.span(row) : undefined
      if (next !== undefined) stack.push(next)
    }
  }
  return false
}

function ahead(ctx: Asked, span: ArrivedSpan, self: number): Iterable<number> {
  const { parentId, parentRow } = span
  if (parentId === 0n) return writersAhead(ctx, span, self)
  if (parentRow === undefined || !ctx.events.isLinked(parentRow)) return []
  return parentRow === self || ctx.waiting.hasSpan(parentRow) ? [parentRow] : []
}
