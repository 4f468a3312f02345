import { printIn, type ObjectFacts } from '../model/kubernetes/object-facts.ts'
import type { KnownVersion } from '../model/kubernetes/cluster-objects.ts'
import type { Write } from '../model/kubernetes/write.ts'
import type { Part } from './part-of-write.ts'

const BY_API = 'EvictionByEvictionAPI'

/** The API server marks a Pod that somebody evicts, in a version of its own, and deletes it then: two versions of one request. */
export function isMarkedAsEvicted(facts: ObjectFacts | undefined): boolean {
  return facts !== undefined && printIn(facts, 'evicted') === BY_API
}

/** It is the second version of an eviction, whose first is the version before. */
export function completesEviction({ request }: Write, part: Part, before: KnownVersion | undefined): boolean {
  const isOfEviction = request === undefined || request.subresource === 'eviction'
  return part === 'deletion' && isOfEviction && isMarkedAsEvicted(before?.facts)
}
