import type { ApiResource } from '../../cluster/discovery.ts'
import type { WatchedResource } from '../../cluster/watched-resource.ts'
import { whyUntraced } from '../../kubernetes/untraced.ts'
import type { K8sObjectsSettings, WantedObjects } from './k8s-objects-receiver.ts'

export interface Followed {
  readonly watched: readonly WatchedResource[]
  /** What is asked for by name and not there, or cannot be watched, and why. */
  readonly missing: readonly string[]
}

/** Groups whose objects say how the API server itself is doing, and follow from no change. */
const OF_THE_SERVER = new Set([
  'metrics.k8s.io',
  'custom.metrics.k8s.io',
  'external.metrics.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
])
const EVERY_NAMESPACE = ['']

/** What is watched of a cluster that has these resources. */
export function followedResources(
  { objects, namespaces }: K8sObjectsSettings,
  there: readonly ApiResource[],
): Followed {
  if (objects.length === 0) {
    const all = there.filter((resource) => isTraced(resource) && canBeWatched(resource))
    const within = namespaces.length === 0 ? all : all.filter(({ isNamespaced }) => isNamespaced)
    const wanted = { namespaces, labelSelector: '', fieldSelector: '' }
    return { watched: within.flatMap((resource) => watchedOf(resource, wanted)), missing: [] }
  }
  const watched: WatchedResource[] = []
  const missing: string[] = []
  for (const wanted of objects) {
    const name = wanted.group === undefined ? wanted.name : `${wanted.name}.${wanted.group}`
    const found = there.find((resource) => isWanted(resource, wanted))
    if (found === undefined) missing.push(`${name} is not there; it is watched once it is`)
    else if (!canBeWatched(found)) missing.push(`${name} cannot be watched; remove it from objects`)
    else if (!isTraced(found)) missing.push(`${name} takes no part in cascades; remove it from objects`)
    else watched.push(...watchedOf(found, wanted))
  }
  return { watched, missing }
}

function isWanted({ group, resource }: ApiResource, wanted: WantedObjects): boolean {
  return resource === wanted.name && (wanted.group === undefined || group === wanted.group)
}

function isTraced({ group, apiVersion, resource }: ApiResource): boolean {
  return whyUntraced(apiVersion, resource) === undefined && !OF_THE_SERVER.has(group)
}

function canBeWatched({ verbs }: ApiResource): boolean {
  return verbs.includes('list') && verbs.includes('watch')
}

function watchedOf(
  { group, apiVersion, resource, kind, isNamespaced }: ApiResource,
  wanted: Omit<WantedObjects, 'name'>,
): WatchedResource[] {
  const { namespaces, labelSelector, fieldSelector } = wanted
  const each = isNamespaced && namespaces.length > 0 ? namespaces : EVERY_NAMESPACE
  return each.map((namespace) => ({
    apiVersion,
    resource,
    kind,
    namespace,
    labelSelector,
    fieldSelector,
    // What stands in a Secret does not leave the API server.
    isMetadataOnly: group === '' && resource === 'secrets',
  }))
}
