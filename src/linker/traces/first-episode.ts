import { nanosOfMs } from '../../model/clock.ts'
import type { CpidNode } from '../../model/ports/graph-port.ts'
import type { LinkPorts } from '../../model/ports/linking/link-ports.ts'
import type { LinkContext } from '../link-context.ts'

/**
 * The episode that a root without a trace here begins with: 0, its main trace, unless that may be in a backend already.
 * Nothing is sent there again, since spans of the same ids would differ. A root whose tombstone is forgotten is not told from a
 * new one by itself, so that one counts as new only where its mergelog was made later than any that was pruned.
 */
export function firstEpisodeOf(
  { graph, mergelogs }: Pick<LinkContext, 'graph'> & Pick<LinkPorts, 'mergelogs'>,
  root: CpidNode,
): number {
  const { untilMs, nextEpisode } = graph.forgotten
  if (root.pruned || root.nextEpisode > 0 || nextEpisode === 0) return root.nextEpisode
  const mergelog = mergelogs.find(root.id)
  return mergelog !== undefined && mergelog.timeNs > nanosOfMs(untilMs) ? 0 : nextEpisode
}
