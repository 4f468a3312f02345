import type { KnownVersion } from '../../model/inference-store.ts'
import { fingerprintOf, type ObjectIdentity } from '../../model/kubernetes-objects.ts'
import { MAX_OBJECTS, mayHaveRead, type ReadContext } from './read-context.ts'
import type { Counts, Relation } from './relations.ts'

interface CountedObject {
  readonly identity: ObjectIdentity
  /** The versions below the write, newest first. */
  readonly versions: readonly KnownVersion[]
}

interface CountedVersions {
  readonly versions: readonly { readonly identity: ObjectIdentity; readonly known: KnownVersion }[]
  /** The highest version that was counted. */
  readonly upTo: bigint
}

/**
 * The versions for which a controller wrote a status that counts other objects. They come from the newest state whose sums match the
 * status: in it, the versions that gave each object its count, if they are newer than the writer's last write. Undefined if nothing is
 * counted, there are too many objects, or no state matches.
 */
export function countedVersions(
  { reads, counts }: Relation,
  reading: ReadContext,
): CountedVersions | undefined {
  const { objects, below, by } = reading
  const { object, facts } = reading.write
  if (counts === undefined || reads.kind !== 'dependents' || facts === undefined) return undefined
  const owned = objects.ownedBy(object.uid, reads.resource, 0n, below, MAX_OBJECTS)
  if (owned.length === MAX_OBJECTS) return undefined
  const all = owned.map(({ identity, versions }) => ({
    identity,
    versions: versions.filter(({ version }) => version < below),
  }))
  const said = counts.sums.map(({ ours }) => fingerprintOf(facts, ours))
  const fits = (upTo: bigint): boolean =>
    counts.sums.every(({ theirs }, at) => String(sumOf(all, theirs, upTo)) === said[at])
  const read = all.map(({ identity, versions }) => ({
    identity,
    versions: versions.filter((known) => mayHaveRead(known, reading)),
  }))
  const upTo = [read, all].flatMap((some) => momentsOf(some, below)).find(fits)
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

/** All versions of all objects, newest first, and one below them: the states that a status can count. */
function momentsOf(all: readonly CountedObject[], below: bigint): bigint[] {
  const moments = all.flatMap(({ versions }) => versions.map(({ version }) => version))
  const inOrder = moments.sort((one, other) => (one > other ? -1 : 1))
  return [...inOrder, (inOrder.at(-1) ?? below) - 1n]
}

function sumOf(all: readonly CountedObject[], print: string, upTo: bigint): number {
  return all.reduce((sum, { versions }) => {
    const known = versions.find(({ version }) => version <= upTo)
    return sum + (known === undefined || known.gone ? 0 : Number(fingerprintOf(known.facts, print) ?? 0))
  }, 0)
}

/** The oldest version of the newest run of versions that count the same. */
function firstThatCountsSo(versions: readonly KnownVersion[], counts: Counts): KnownVersion | undefined {
  const [newest] = versions
  if (newest === undefined) return undefined
  const prints = [...counts.sums.map(({ theirs }) => theirs), ...(counts.also ?? [])]
  const isSame = (one: KnownVersion): boolean =>
    one.gone === newest.gone &&
    prints.every((print) => fingerprintOf(one.facts, print) === fingerprintOf(newest.facts, print))
  const other = versions.findIndex((one) => !isSame(one))
  return other < 0 ? versions.at(-1) : versions[other - 1]
}
