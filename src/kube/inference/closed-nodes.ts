import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { CORDONED, fingerprintOf, type ObjectFacts } from '../../model/kubernetes-objects.ts'
import { newestBelow } from './read-context.ts'

interface ClosedNode {
  readonly node: KnownObject
  /** The version with which it was cordoned or tainted. */
  readonly closing: KnownVersion
}

/** The node of a Pod, if it was cordoned or tainted while that Pod was on it. */
export function closedNodeOf(
  pod: KnownObject | undefined,
  facts: ObjectFacts | undefined,
  objects: ClusterObjects,
): ClosedNode | undefined {
  const { name = '' } = facts?.references.find(({ field }) => field === 'node') ?? {}
  const node = objects.named('nodes', '', name)
  if (pod === undefined || node === undefined) return undefined
  const closing = node.versions.find(({ facts: now }, at) => {
    const then = node.versions[at + 1]?.facts
    return then !== undefined && closedBy(now) !== closedBy(then)
  })
  if (closing === undefined || closedBy(closing.facts) === '') return undefined
  const then = newestBelow(pod, closing.version)
  return (then && fingerprintOf(then.facts, 'node')) === name ? { node, closing } : undefined
}

/** Whether a person cordoned the node. Tools of people evict Pods only from such nodes. */
export function isCordonedByPerson({ begun, facts }: KnownVersion): boolean {
  return begun === true && closedBy(facts).split(' ').includes(CORDONED)
}

const closedBy = (facts: ObjectFacts): string => fingerprintOf(facts, 'closed') ?? ''
