import { parseCpid, type Cpid } from '../model/cpid.ts'
import type { KnownObject, KnownVersion } from '../model/kubernetes/cluster-objects.ts'
import { PRINT, printIn } from '../model/kubernetes/object-facts.ts'
import type { Write } from '../model/kubernetes/write.ts'

/**
 * The change that an object was given for a write that has no place for it: a deletion, a scaling. Whoever is about to make one may
 * write the CPID into the object and nothing else; until an author writes something else there, it stands for what comes next.
 */
export function announcedChange(
  { version, facts }: Pick<Write, 'version' | 'facts'>,
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
  return printIn(facts, PRINT.content) ?? printIn(facts, PRINT.authored)
}
