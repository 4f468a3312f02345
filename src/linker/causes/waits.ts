import type { LinkContext } from '../link-context.ts'

/** Who has so many ancestors that are not explained that they are not all found in a round waits for as long at least. */
const LATER_MS = 100

/** When to look again at what waits for a CPID to be explained; undefined when nothing is worth waiting for any more. */
export function waitsUntil(
  { ancestry, clock }: Pick<LinkContext, 'ancestry' | 'clock'>,
  cpid: number,
): number | undefined {
  const until = ancestry.waitsUntil(cpid)
  return until === 'later' ? clock.activeMs + LATER_MS : until
}
