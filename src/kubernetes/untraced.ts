import type { Skipped } from '../model/kubernetes/observation.ts'

/** Requests that are answered without storing an object. */
const REVIEWS = /(?:review|reviews)$/

/** Why writes of a resource are no part of cascades; undefined for all that are. */
export function whyUntraced(apiVersion: string, resource: string): Skipped | undefined {
  if (resource === 'events') return 'event'
  if (resource === 'leases' || apiVersion.startsWith('coordination.k8s.io/')) return 'lease'
  return REVIEWS.test(resource) ? 'no_object' : undefined
}
