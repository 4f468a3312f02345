import { foldUnexplained } from '../../dag/newest-roots.ts'
import type { LinkContext } from '../link-context.ts'

/**
 * When to look again at what waits for a CPID to be explained: the earliest moment at which one of its missing
 * ancestors has been missed for `wait`. Undefined when nothing is worth waiting for any more.
 */
export function waitsUntil({ graph, clock, settings, known }: LinkContext, cpid: number): number | undefined {
  const until = foldUnexplained(graph, cpid, known.until, {
    ofEnd: (node) => {
      const end = node.missingSinceMs + settings.waitMs
      return node.explained || end <= clock.activeMs ? Infinity : end
    },
    ofSources: (ends) => ends.reduce((earliest, end) => Math.min(earliest, end), Infinity),
  })
  return until === Infinity ? undefined : until
}
