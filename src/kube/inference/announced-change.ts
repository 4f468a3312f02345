import type { KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { FINGERPRINT, fingerprintOf, type ObjectFacts } from '../../model/kubernetes-objects.ts'
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
    if (!isSameWrite(one.facts, earlier.facts)) return parseCpid(cpid)
  }
  return undefined
}

/** Whether what names the change of a version is what stood there before, so that it says nothing of this write. */
export function isSameWrite(facts: ObjectFacts, before: ObjectFacts): boolean {
  const { cpid, writeOfChange = before.writeOfChange } = facts
  return cpid === before.cpid && writeOfChange === before.writeOfChange
}

/** What an author wrote, but for what names the change. */
function contentOf({ facts }: KnownVersion): string | undefined {
  return fingerprintOf(facts, FINGERPRINT.content) ?? fingerprintOf(facts, FINGERPRINT.authored)
}
