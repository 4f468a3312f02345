import type { KnownVersion } from '../../model/inference-store.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { type Cpid, parseCpid } from '../../model/merge-graph.ts'
import type { ReadVersion } from './read-versions.ts'

/** The most sources of a change that are kept until its mergelog arrives. */
const MOST = 100

interface Carrying {
  readonly write: ClusterWrite
  readonly before: KnownVersion | undefined
  readonly reads: readonly ReadVersion[]
  /** A person made the write. */
  readonly begins: boolean
  /** The CPID that a library derives from a version whose writer it does not know. */
  readonly derivedFrom: (uid: string, version: bigint) => Cpid
}

/**
 * The sources of a CPID that a version is the first to carry: the ancestors in its annotation, nearest first; an empty list means that the
 * CPID is a root. Without the annotation, a person's change is a root, and a controller's merges the changes that the controller read.
 * Undefined if that is not known, or if something that the writer read carried the CPID already.
 */
export function sourcesOfCarriedCpid(
  cpid: Cpid,
  { write: { facts }, before, reads, begins, derivedFrom }: Carrying,
): readonly Cpid[] | undefined {
  const known = reads.flatMap((read) => read.known.cpid ?? [])
  if (known.includes(cpid)) return undefined
  const told = reads.find((read) => derivedFrom(read.identity.uid, read.known.version) === cpid)
  if (told !== undefined) return unlessEmpty(listOf(told.known.cpid === undefined ? [] : [told.known.cpid]))
  // A person who sets a CPID by hand does not change the annotation with the ancestors: they are those of the change before.
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
