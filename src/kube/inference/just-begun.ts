import { isCustomResource } from '../../model/kubernetes-objects.ts'
import { EVERY_GROUP, type KnownObject, type KnownVersion } from '../../model/inference-store.ts'
import {
  candidate,
  isSignedJustBefore,
  lastSigned,
  MAX_OBJECTS,
  type News,
  type ReadContext,
  type RelatedObject,
} from './read-context.ts'

/** What people change in a namespace, and programs look at, besides custom resources. */
const LOOKED_AT = ['configmaps', 'secrets', 'services', 'deployments', 'statefulsets', 'daemonsets', 'jobs']

/**
 * With a watch alone, for an object that belongs to nothing that its controller reconciles: the last change in its namespace that a person
 * has just begun. Programs that share a name, such as `manager`, count as one controller, and not all of them have custom resources.
 */
export function justBegun(reading: ReadContext, { changedIn }: News): RelatedObject[] {
  const { write, by, objects } = reading
  const { namespace, resource, apiVersion } = write.object
  const primaries = objects.primariesOf(by)
  const isOfIts = primaries.includes(resource) || reading.primaries().length > 0
  if (write.request !== undefined || namespace === '' || isOfIts || isCustomResource(apiVersion)) return []
  const others = objects.kindsOf(EVERY_GROUP).filter((kind) => !primaries.includes(kind))
  const [last] = [...LOOKED_AT, ...others]
    .flatMap((of) => changedIn(of, namespace).slice(0, MAX_OBJECTS))
    .flatMap((object) => begunIn(object, reading) ?? [])
    .sort((one, other) => (one.known.version > other.known.version ? -1 : 1))
  if (last === undefined) return []
  return candidate(last.object, 'namespace').map((one) => ({
    ...one,
    fits: ({ version }: KnownVersion) => version === last.known.version,
  }))
}

/** The version with which somebody has just begun a change of an object. */
function begunIn(
  object: KnownObject,
  reading: ReadContext,
): { object: KnownObject; known: KnownVersion } | undefined {
  const known = object.versions.find(({ version, begun }) => begun === true && version < reading.below)
  if (known === undefined || known.version <= reading.objects.lastActed(reading.write.object.uid, reading.by))
    return undefined
  return hasNoTime(known, object) || isSignedJustBefore(known, reading) ? { object, known } : undefined
}

/** Deletions and scalings leave no time in managedFields. */
function hasNoTime({ version, gone, facts }: KnownVersion, { versions }: KnownObject): boolean {
  const before = versions.find((one) => one.version < version)
  return gone || (before !== undefined && lastSigned(before.facts) === lastSigned(facts))
}
