import type { KnownVersion } from '../model/kubernetes/cluster-objects.ts'
import { printIn, type ObjectIdentity } from '../model/kubernetes/object-facts.ts'
import type { Write } from '../model/kubernetes/write.ts'
import { countedVersions } from './counted-versions.ts'
import { mayHaveRead, newestBelow, objectsOf, type Candidate, type Reading } from './related-objects.ts'
import { relationsOf, type Relation } from './relations.ts'
import { wantsFewer } from './wants-fewer.ts'

/** A version of an object that a writer is taken to have read. */
export interface ReadVersion {
  readonly identity: ObjectIdentity
  readonly known: KnownVersion
  /** The request names it, or the content can come from no other; else it is the newest below the write. */
  readonly exact: boolean
}

export interface ReadVersions {
  readonly reads: readonly ReadVersion[]
  /** Up to which version what bears on the write was known; undefined where nothing tells. */
  readonly upTo: bigint | undefined
  /** No object is left out or added that the content does not name. */
  readonly isWhole: boolean
}

/** What a controller read for a write: the version before, and what the relations name. */
export function readVersions(reading: Reading, table: readonly Relation[]): ReadVersions {
  const { write, part, by, tooLate } = reading
  const found = new Map<string, ReadVersion>()
  const add = (read: ReadVersion | undefined): void => {
    if (read !== undefined && !found.has(read.identity.uid)) found.set(read.identity.uid, read)
  }
  add(versionBefore(reading))
  let upTo: bigint | undefined
  let isWhole = true
  for (const relation of relationsOf(table, { resource: write.object.resource, part, by })) {
    const { kind } = relation.reads
    if (kind === 'dependents' || kind === 'fellows') isWhole = false
    const counted = countedVersions(relation, reading)
    upTo = counted?.upTo ?? upTo
    if (counted === undefined) {
      const objects = objectsOf(relation.reads, reading, (uid) => found.get(uid)?.known)
      for (const object of objects) add(versionOf(object, relation, reading))
    } else for (const { identity, known } of counted.versions) add({ identity, known, exact: false })
  }
  return { reads: [...found.values()], upTo: lowest([upTo, ...[...tooLate].map((at) => at - 1n)]), isWhole }
}

function lowest(all: readonly (bigint | undefined)[]): bigint | undefined {
  const known = all.filter((one) => one !== undefined)
  return known.reduce<bigint | undefined>(
    (least, one) => (least === undefined || one < least ? one : least),
    undefined,
  )
}

/** A PUT says which version it read, a deletion may; any other request read the newest. */
function versionBefore({ write, before, objects, below }: Reading): ReadVersion | undefined {
  const named = write.request?.readVersion
  const object = objects.get(write.object.uid)
  if (object === undefined || before === undefined) return undefined
  const known = object.versions.find(({ version }) => version === named)
  if (known !== undefined) return { identity: object.identity, known, exact: true }
  const newest = newestBelow(object, below)
  return newest && { identity: object.identity, known: newest, exact: false }
}

function versionOf(
  { object, fits }: Candidate,
  { copies, alive, reads }: Relation,
  reading: Reading,
): ReadVersion | undefined {
  const { write, below } = reading
  const { identity, versions } = object
  const isOwner = reads.kind === 'owner'
  const earlier = versions.filter(({ version, gone }) => version < below && !(alive === true && gone))
  const fitting = fits === undefined ? copied(copies ?? [], write, earlier) : earlier.filter(fits)
  const shown = isOwner ? shownLater(versions, earlier, copies ?? [], reading) : undefined
  if (shown !== undefined) return { identity, known: shown, exact: false }
  const known = newestOf(fitting, reading) ?? earlier.find((one) => mayHaveRead(one, reading))
  return known && { identity, known, exact: fitting.length === 1 && earlier.length > 1 }
}

/**
 * An owner was there, and as it was copied, before what was made for it, though a list showed it only as it was later; and wanted fewer
 * before one of them went. None where an earlier version may have been what was read: more of what was copied stands in none.
 */
function shownLater(
  versions: readonly KnownVersion[],
  earlier: readonly KnownVersion[],
  copies: NonNullable<Relation['copies']>,
  { write: { facts, request }, part }: Reading,
): KnownVersion | undefined {
  const equal = (version: KnownVersion): number =>
    copies.filter(({ theirs, ours }) => {
      const said = facts && printIn(facts, ours)
      return said !== undefined && printIn(version.facts, theirs) === said
    }).length
  const most = (some: readonly KnownVersion[]): number => Math.max(-1, ...some.map(equal))
  const later = versions.filter((one) => !one.gone && !earlier.includes(one))
  const [newest] = earlier
  if (part === 'deletion')
    return request || !newest ? undefined : later.findLast((one) => wantsFewer(one.facts, newest.facts))
  const asMuch = most(later)
  return asMuch > most(earlier) ? later.findLast((one) => equal(one) === asMuch) : undefined
}

/** Among those that were there when the request began, where there are such. */
function newestOf(versions: readonly KnownVersion[], reading: Reading): KnownVersion | undefined {
  return versions.find((known) => mayHaveRead(known, reading)) ?? versions[0]
}

/** Those whose content is what the write copies, as far as both have it; none where nothing can be compared. */
function copied(
  copies: readonly { theirs: string; ours: string }[],
  { facts }: Write,
  versions: readonly KnownVersion[],
): KnownVersion[] {
  const compared = copies.flatMap(({ theirs, ours }) => {
    const said = facts && printIn(facts, ours)
    const isThere = versions.some((version) => printIn(version.facts, theirs) === said)
    return said !== undefined && isThere ? [{ theirs, said }] : []
  })
  if (compared.length === 0) return []
  return versions.filter((version) =>
    compared.every(({ theirs, said }) => printIn(version.facts, theirs) === said),
  )
}
