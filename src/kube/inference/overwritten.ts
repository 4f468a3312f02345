import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { fieldsOf, fingerprintOf } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import { nanosOfMs } from '../../model/time-and-size.ts'
import { lastSigned } from './read-context.ts'
import type { ReadVersion } from './read-versions.ts'

/** The key of `lastActed` for the changes of an object that any controller has acted on. */
export const ANYBODY = 'anybody has read'

/** The key of `lastActed` for the changes of an object that one controller has acted on. */
function readerOf(by: string): string {
  return `${by} has read`
}

/**
 * Earlier operators' versions of an object that the reader acts on together with the last one: those on which it has not acted yet and that
 * still have a field in effect. A controller sees only the latest state, and reconciles what it writes and the owners of that. Records that
 * it has acted on all of them.
 */
export function overwrittenBefore(
  { object: { uid }, facts, listed }: Pick<ClusterWrite, 'object' | 'facts' | 'listed'>,
  reads: readonly ReadVersion[],
  by: string,
  objects: ClusterObjects,
): ReadVersion[] {
  // A version from a list can be the result of several writes.
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
    const lastByAnybody = objects.lastActed(read.identity.uid, ANYBODY)
    objects.noteActed(read.identity.uid, readerOf(by), newest.version)
    objects.noteActed(read.identity.uid, ANYBODY, newest.version)
    // What an operator wanted of an object before its deletion is nothing to act on any more.
    const isBeforeDeletion = (one: KnownVersion): boolean => newest.facts.deleting && !one.facts.deleting
    // A controller that ignored a change while others acted on it does not act on it later.
    const isLeftAlone = (one: KnownVersion): boolean =>
      until === 0n && one.version <= lastByAnybody && isLongBefore(one, newest)
    return begun
      .slice(1)
      .filter((one) => one.version > until && !isObserved(one, read.known))
      .filter((one) => holdsIn(one, read.known, object) && !isBeforeDeletion(one) && !isLeftAlone(one))
      .map((known) => ({ identity: read.identity, known, exact: false }))
  })
}

/** The longest time that a controller takes to act on a change. */
const ACTS_WITHIN_NS = nanosOfMs(10_000)

/** Compares the starts of the requests, else the latest times in managedFields. */
function isLongBefore(one: KnownVersion, later: KnownVersion): boolean {
  const [then, now] = [one, later].map(({ readableNs, facts }) => readableNs ?? lastSigned(facts))
  return then !== undefined && now !== undefined && now - then > ACTS_WITHIN_NS
}

/**
 * The operator changes of an object that a new version fully overwrites before any controller acted on them. Changes that were already
 * fully overwritten before that version are left out.
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

/** Whether the observedGeneration of the second version covers the generation of the first. */
export function isObserved({ facts: { generation } }: KnownVersion, { facts }: KnownVersion): boolean {
  const observed = fingerprintOf(facts, 'observed')
  return observed !== undefined && Number(observed) >= generation
}

/** Whether a field that a version set has the same value in a later version. True if the fields are not known. */
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
