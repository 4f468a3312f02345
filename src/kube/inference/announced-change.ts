import type { KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { FINGERPRINT, fingerprintOf } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { type Cpid, parseCpid } from '../../model/merge-graph.ts'

/**
 * The change that an object was given for a write that has no place for it: a deletion, a scaling. Whoever is about to make one may
 * write the CPID into the object and nothing else; until an author writes something else there, it stands for what comes next.
 */
export function announcedChange(
  { version, facts }: Pick<ClusterWrite, 'version' | 'facts'>,
  object: KnownObject | undefined,
): Cpid | undefined {
  const before = object?.versions.filter((one) => version === undefined || one.version < version) ?? []
  const cpid = before[0]?.facts.cpid
  if (cpid === undefined || (facts !== undefined && facts.cpid !== cpid)) return undefined
  for (const [index, one] of before.entries()) {
    const earlier = before[index + 1]
    if (earlier === undefined || contentOf(one) !== contentOf(earlier)) return undefined
    if (earlier.facts.cpid !== cpid) return parseCpid(cpid)
  }
  return undefined
}

/** What an author wrote, but for what names the change. */
function contentOf({ facts }: KnownVersion): string | undefined {
  return fingerprintOf(facts, FINGERPRINT.content) ?? fingerprintOf(facts, FINGERPRINT.authored)
}
