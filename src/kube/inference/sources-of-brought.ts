import type { KnownVersion } from '../../model/inference-store.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { type Cpid, parseCpid } from '../../model/merge-graph.ts'
import type { ReadVersion } from './read-versions.ts'

/** The most sources that are kept of a change whose mergelog may be lost. */
const MOST = 100

interface Bringing {
  readonly write: ClusterWrite
  readonly before: KnownVersion | undefined
  readonly reads: readonly ReadVersion[]
  /** A person wrote. */
  readonly begins: boolean
  /** The CPID that a library derives from a version whose writer it does not know. */
  readonly derivedFrom: (uid: string, version: bigint) => Cpid
}

/**
 * The sources of the CPID that a version brought: the ancestors that the version names, nearest first; an empty list of them means a
 * root. If the version names none, a person's change is a root, and a controller's comes from what the controller read. Undefined if
 * that is not known, or if the CPID was there before this write.
 */
export function sourcesOfBrought(
  cpid: Cpid,
  { write: { facts }, before, reads, begins, derivedFrom }: Bringing,
): readonly Cpid[] | undefined {
  const known = reads.flatMap((read) => read.known.cpid ?? [])
  if (known.includes(cpid)) return undefined
  const told = reads.find((read) => derivedFrom(read.identity.uid, read.known.version) === cpid)
  if (told !== undefined) return unlessEmpty(listOf(told.known.cpid === undefined ? [] : [told.known.cpid]))
  // Who sets a CPID by hand leaves the ancestors of the change before.
  const isLeft = begins && facts?.cpid !== before?.facts.cpid && facts?.ancestors === before?.facts.ancestors
  if (facts?.ancestors !== undefined && !isLeft) return ancestorsIn(facts.ancestors, cpid)
  return begins ? [] : unlessEmpty(listOf(known))
}

function ancestorsIn(text: string, cpid: Cpid): readonly Cpid[] | undefined {
  if (text.trim() === '') return []
  const named = text.split(',', MOST).flatMap((one) => parseCpid(one.trim()) ?? [])
  return unlessEmpty(listOf(named.filter((one) => one !== cpid)))
}

const listOf = (cpids: readonly Cpid[]): Cpid[] => [...new Set(cpids)].slice(0, MOST)

const unlessEmpty = (cpids: readonly Cpid[]): readonly Cpid[] | undefined =>
  cpids.length === 0 ? undefined : cpids
