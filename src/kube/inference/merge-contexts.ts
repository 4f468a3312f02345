import type { Changes, KnownVersion } from '../../model/inference-store.ts'
import type { Cpid } from '../../model/merge-graph.ts'
import { derivedCpid, type WriteKey } from './write-key.ts'

/** The most included changes that a version keeps. */
const MAX_INCLUDED = 64

/** The change of a written version, merged from the versions that its writer read. */
export interface MergedContexts {
  readonly cpid: Cpid
  /** The CPIDs that `cpid` merges; undefined if the version continues the change of a version that was read. */
  readonly sources: readonly Cpid[] | undefined
  /** Changes from which `cpid` is known to descend. */
  readonly includes: readonly Cpid[]
}

/**
 * Algorithm 1 of the paper: merges the changes of the versions that were read, except those from which another one descends by the merge
 * graph. `before` is the read version of the written object; the changes in its `includes` are not looked up again, so a long history costs
 * nothing. Undefined if no version has a CPID.
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
