import type { UnixNanos } from '../model/clock.ts'
import type { CustomReference } from '../model/kubernetes/custom-reference.ts'
import type { Skipped, WatchedVersion } from '../model/kubernetes/observation.ts'
import { namespaceOf, objectIn, textIn, type JsonObject } from './json-access.ts'
import { readObjectFacts } from './read-object-facts.ts'
import { readVersion } from './read-version.ts'
import { resourceOfKind } from './resource-of-kind.ts'
import { whyUntraced } from './untraced.ts'

/**
 * What a watch event says; `resource` is the plural that was watched, guessed where a recording does not tell; `custom` are
 * places that configuration tells of.
 */
export function readWatchEvent(
  event: JsonObject,
  seenNs: UnixNanos,
  resource?: string,
  custom: readonly CustomReference[] = [],
): WatchedVersion | Skipped {
  const object = objectIn(event, 'object')
  const metadata = objectIn(object, 'metadata')
  const identity = {
    apiVersion: textIn(object, 'apiVersion'),
    resource: resource ?? resourceOfKind(textIn(object, 'kind')),
    namespace: namespaceOf(object),
    name: textIn(metadata, 'name'),
    uid: textIn(metadata, 'uid'),
  }
  const untraced = whyUntraced(identity.apiVersion, identity.resource)
  if (untraced !== undefined) return untraced
  if (identity.name === '' || identity.uid === '') return 'no_object'
  const version = readVersion(textIn(metadata, 'resourceVersion'))
  if (version === undefined) return 'unversioned'
  const type = textIn(event, 'type')
  return {
    source: 'watch',
    object: identity,
    version,
    facts: readObjectFacts(object, identity.resource, custom),
    by: 'event',
    gone: type === 'DELETED',
    isNew: type === 'ADDED',
    seenNs,
  }
}
