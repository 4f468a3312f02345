import type { KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { FINGERPRINT, fingerprintOf, type ObjectFacts } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { type Cpid, parseCpid } from '../../model/merge-graph.ts'

/**
 * The change that was announced on an object for a write that cannot carry it, such as a deletion or a scaling. A client that is about to
 * make such a write may put the CPID on the object and change nothing else. It applies to the next writes until an author changes
 * something else.
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

/** Whether the previous version already named this change, so that it says nothing about this write. */
export function isSameWrite(facts: ObjectFacts, before: ObjectFacts): boolean {
  const { cpid, writeOfChange = before.writeOfChange } = facts
  return cpid === before.cpid && writeOfChange === before.writeOfChange
}

/** What an author wrote, without the annotations that name a change. */
function contentOf({ facts }: KnownVersion): string | undefined {
  return fingerprintOf(facts, FINGERPRINT.content) ?? fingerprintOf(facts, FINGERPRINT.authored)
}
