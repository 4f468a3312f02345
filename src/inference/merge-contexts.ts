import type { Cpid } from '../model/cpid.ts'
import type { Changes, KnownVersion } from '../model/kubernetes/cluster-objects.ts'
import { derivedCpid, type WriteKey } from './derive-change-ids.ts'

/** How many changes a version remembers to come from. */
const MAX_INCLUDED = 64

/** The change of a version that somebody wrote who had read others. */
export interface MergedContexts {
  readonly cpid: Cpid
  /** The changes that it merges; undefined where it is one of those that were read. */
  readonly sources: readonly Cpid[] | undefined
  /** Changes that it is known to come from. */
  readonly includes: readonly Cpid[]
}

/**
 * Algorithm 1 of the paper over the versions that were read, with the merge graph for "descends from". `before` is the version of
 * the written object among them: what its change is known to come from is not looked for again, so that what an object has
 * gone through before costs nothing. Undefined where none of them is of a change.
 */
export function mergeContexts(
  reads: readonly KnownVersion[],
  before: KnownVersion | undefined,
  changes: Pick<Changes, 'newest'>,
  key: WriteKey,
): MergedContexts | undefined {
  const cpids = [...new Set(reads.flatMap(({ cpid }) => cpid ?? []))]
  const own = before?.cpid
  const known = new Set(own === undefined ? [] : before?.includes)
  const open = cpids.filter((cpid) => cpid === own || !known.has(cpid))
  const newest = open.length < 2 ? open : changes.newest(open)
  const [only] = newest
  if (only === undefined) return undefined
  const isMerge = newest.length > 1
  const cpid = isMerge ? derivedCpid('merge', key) : only
  const above = new Set([...cpids, ...known])
  above.delete(cpid)
  return {
    cpid,
    sources: isMerge ? newest.sort() : undefined,
    includes: [...above].slice(0, MAX_INCLUDED),
  }
}
