import type { KnownVersion } from '../model/kubernetes/cluster-objects.ts'
import { printIn, type ObjectIdentity } from '../model/kubernetes/object-facts.ts'
import { mayHaveRead, MAX_OBJECTS, type Reading } from './related-objects.ts'
import type { Counts, Relation } from './relations.ts'

interface CountedObject {
  readonly identity: ObjectIdentity
  /** Below the write, newest first. */
  readonly versions: readonly KnownVersion[]
}

export interface CountedVersions {
  readonly versions: readonly { readonly identity: ObjectIdentity; readonly known: KnownVersion }[]
  /** What came later was not counted. */
  readonly upTo: bigint
}

/**
 * What a status that counts others was written for: the newest state of all of them that it is the sum of, and of that those
 * versions which made them count as they do and which were not counted when the writer wrote last. Undefined where nothing is
 * counted, there are too many, or no state of them fits.
 */
export function countedVersions({ reads, counts }: Relation, reading: Reading): CountedVersions | undefined {
  const { objects, below, by } = reading
  const { object, facts } = reading.write
  if (counts === undefined || reads.kind !== 'dependents' || facts === undefined) return undefined
  const owned = objects.ownedBy(object.uid, reads.resource, 0n, below, MAX_OBJECTS)
  if (owned.length === MAX_OBJECTS) return undefined
  const all = owned.map(({ identity, versions }) => ({
    identity,
    versions: versions.filter(({ version }) => version < below),
  }))
  const said = counts.sums.map(({ ours }) => printIn(facts, ours))
  const fits = (upTo: bigint): boolean =>
    counts.sums.every(({ theirs }, at) => String(sumOf(all, theirs, upTo)) === said[at])
  const read = all.map(({ identity, versions }) => ({
    identity,
    versions: versions.filter((known) => mayHaveRead(known, reading)),
  }))
  const upTo = momentsOf(read).find(fits) ?? momentsOf(all).find(fits)
  if (upTo === undefined) return undefined
  const since = objects.lastActed(object.uid, by)
  const versions = all.flatMap(({ identity, versions: known }) => {
    const first = firstThatCountsSo(
      known.filter(({ version }) => version <= upTo),
      counts,
    )
    return first === undefined || first.version <= since ? [] : [{ identity, known: first }]
  })
  return { versions, upTo }
}

/** After each version of each of them, the last first; and before all. */
function momentsOf(all: readonly CountedObject[]): bigint[] {
  const moments = all.flatMap(({ versions }) => versions.map(({ version }) => version))
  return [...moments.sort((one, other) => (one > other ? -1 : 1)), 0n]
}

function sumOf(all: readonly CountedObject[], print: string, upTo: bigint): number {
  return all.reduce((sum, { versions }) => {
    const known = versions.find(({ version }) => version <= upTo)
    return sum + (known === undefined || known.gone ? 0 : Number(printIn(known.facts, print) ?? 0))
  }, 0)
}

/** Going back from the newest, the last version before which it counted otherwise. */
function firstThatCountsSo(versions: readonly KnownVersion[], counts: Counts): KnownVersion | undefined {
  const [newest] = versions
  if (newest === undefined) return undefined
  const prints = [...counts.sums.map(({ theirs }) => theirs), ...(counts.also ?? [])]
  const isSame = (one: KnownVersion): boolean =>
    one.gone === newest.gone &&
    prints.every((print) => printIn(one.facts, print) === printIn(newest.facts, print))
  const other = versions.findIndex((one) => !isSame(one))
  return other < 0 ? versions.at(-1) : versions[other - 1]
}
