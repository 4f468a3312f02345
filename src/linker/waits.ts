import { missingAncestors } from '../dag/newest-roots.ts'
import type { LinkContext } from './link-context.ts'

/**
 * When to look again at what waits for a CPID to be explained: the earliest moment at which one of its missing
 * ancestors has been missed for `wait`. Undefined when nothing is worth waiting for any more.
 */
export function waitsUntil(ctx: LinkContext, cpid: number): number | undefined {
  const { graph, store, settings } = ctx
  if (graph.node(cpid).explained) return undefined
  let earliest: number | undefined
  for (const id of missingAncestors(graph, cpid)) {
    const until = graph.node(id).missingSinceMs + settings.waitMs
    if (until > store.activeMs && (earliest === undefined || until < earliest)) earliest = until
  }
  return earliest
}
