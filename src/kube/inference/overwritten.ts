import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { fieldsOf, fingerprintOf } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import type { ReadVersion } from './read-versions.ts'

/** Under which name it is noted which of an object's changes any controller has acted on. */
export const ANYBODY = 'anybody has read'

/** Under which name it is noted which of an object's changes a controller has acted on. */
function readerOf(by: string): string {
  return `${by} has read`
}

/**
 * The operators' changes of what was read which its reader acts on too: those before the last, which it has not acted on yet and of which
 * some field still holds: a controller sees the latest state alone. It reconciles what it writes, and what owns that. Notes that it has
 * acted on all of them.
 */
export function overwrittenBefore(
  { object: { uid }, facts, listed }: Pick<ClusterWrite, 'object' | 'facts' | 'listed'>,
  reads: readonly ReadVersion[],
  by: string,
  objects: ClusterObjects,
): ReadVersion[] {
  // What a list shows is the work of several writes.
  if (listed !== undefined) return []
  const reconciled = new Set([uid, ...(facts?.owners ?? []).map((owner) => owner.uid)])
  return reads.flatMap((read) => {
    if (!reconciled.has(read.identity.uid)) return []
    const object = objects.get(read.identity.uid)
    const begun =
      object?.versions.filter((one) => one.begun === true && one.version <= read.known.version) ?? []
    const [newest] = begun
    if (object === undefined || newest === undefined) return []
    const until = objects.lastActed(read.identity.uid, readerOf(by))
    if (newest.version <= until) return []
    objects.noteActed(read.identity.uid, readerOf(by), newest.version)
    objects.noteActed(read.identity.uid, ANYBODY, newest.version)
    return begun
      .slice(1)
      .filter((one) => one.version > until && !isObserved(one, read.known))
      .filter((one) => holdsIn(one, read.known, object))
      .map((known) => ({ identity: read.identity, known, exact: false }))
  })
}

/**
 * The operators' changes of an object of which nothing is left with a new version of it, before any controller had acted on them. Those of
 * which nothing was left before that version are not among them.
 */
export function supersededBy(version: KnownVersion, object: KnownObject, lastActed: bigint): KnownVersion[] {
  const earlier = object.versions.filter((one) => one.version < version.version)
  return earlier.filter(
    (one) =>
      one.begun === true &&
      one.version > lastActed &&
      !holdsIn(one, version, object) &&
      earlier.every((between) => between.version <= one.version || holdsIn(one, between, object)),
  )
}

/** Its controller says that it has seen what an author wrote then. */
function isObserved({ facts: { generation } }: KnownVersion, { facts }: KnownVersion): boolean {
  const observed = fingerprintOf(facts, 'observed')
  return observed !== undefined && Number(observed) >= generation
}

/** Whether some field that a version set is still what it was in a later one. Where nobody can tell, it is. */
function holdsIn(one: KnownVersion, later: KnownVersion, { versions }: KnownObject): boolean {
  if (later.gone) return false
  const before = versions[versions.indexOf(one) + 1]
  const [then, set, now] = [before, one, later].map((version) => version && fieldsIn(version))
  if (set === undefined || now === undefined) return true
  if (before !== undefined && then === undefined) return true
  const changed = [...new Set([...set.keys(), ...(then?.keys() ?? [])])].filter(
    (path) => set.get(path) !== then?.get(path),
  )
  return changed.length === 0 || changed.some((path) => set.get(path) === now.get(path))
}

function fieldsIn({ facts: { fields } }: KnownVersion): Map<string, string> | undefined {
  return fields === undefined ? undefined : fieldsOf(fields)
}
