import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { fingerprintOf, type ObjectIdentity } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import type { SelfReason } from '../../model/seen-write.ts'
import type { ReadVersion } from './read-versions.ts'
import type { WritePart } from './write-part.ts'
import { programOf, type Writer } from './writers.ts'

/** A write that a controller made of its own accord, and what it was set up by. */
export interface SelfBegun {
  readonly reason: SelfReason
  /** The version in which that stands; undefined where it is not known. */
  readonly setUp: { readonly identity: ObjectIdentity; readonly version: bigint } | undefined
}

interface Asked {
  readonly write: ClusterWrite
  readonly part: WritePart
  readonly writer: Writer
  readonly before: KnownVersion | undefined
  readonly reads: readonly ReadVersion[]
  readonly objects: ClusterObjects
}

/**
 * Whether a controller's write follows from no other: from a clock, a measurement, or from what does not happen any more. Undefined for
 * all others.
 */
export function selfBegun(asked: Asked): SelfBegun | undefined {
  switch (asked.writer.service) {
    case 'cronjob-controller':
      return ofCronJob(asked)
    case 'ttl-after-finished-controller':
      return asked.part === 'deletion'
        ? { reason: 'expiry', setUp: setUpBy(asked, asked.write.object.uid) }
        : undefined
    case 'horizontal-pod-autoscaler':
      return ofAutoscaler(asked)
    case 'node-controller':
      return ofNode(asked)
    default:
      return isRenewal(asked)
        ? { reason: 'renewal', setUp: setUpBy(asked, asked.write.object.uid) }
        : undefined
  }
}

function ofCronJob(asked: Asked): SelfBegun | undefined {
  const { part, write, reads } = asked
  if (write.object.resource !== 'jobs' || (part !== 'creation' && part !== 'deletion')) return undefined
  const owner = reads.find(({ identity }) => identity.resource === 'cronjobs')
  // Jobs of a schedule that is gone, or is going, go with it.
  if (owner?.known.gone !== false || owner.known.facts.deleting) return undefined
  const setUp = setUpBy(asked, owner.identity.uid)
  return { reason: part === 'creation' ? 'schedule' : 'expiry', setUp }
}

/** It scales because of what it measures, unless somebody has told it something else since it scaled last. */
function ofAutoscaler(asked: Asked): SelfBegun | undefined {
  const { part, reads, objects, write, writer } = asked
  if (part !== 'scale' && part !== 'authored') return undefined
  const autoscaler = reads.find(({ identity }) => identity.resource === 'horizontalpodautoscalers')
  if (autoscaler === undefined) return undefined
  const last = objects.lastActed(write.object.uid, programOf(writer.service))
  const setUp = setUpBy(asked, autoscaler.identity.uid)
  if (last === 0n || setUp === undefined || setUp.version > last) return undefined
  return { reason: 'metric', setUp }
}

/** Nothing is heard of a kubelet any more. */
function ofNode(asked: Asked): SelfBegun | undefined {
  const { part, write } = asked
  if (write.object.resource !== 'nodes' || part !== 'status') return undefined
  return { reason: 'health', setUp: setUpBy(asked, write.object.uid) }
}

function isRenewal({ write: { facts }, before }: Asked): boolean {
  const [now, then] = [facts, before?.facts].map((one) => one && fingerprintOf(one, 'renewing'))
  return now === 'true' && then !== 'true'
}

function setUpBy({ objects, before, write }: Asked, uid: string): SelfBegun['setUp'] {
  const object: KnownObject | undefined = objects.get(uid)
  const newest = uid === write.object.uid ? before : object?.versions[0]
  if (object === undefined || newest === undefined) return undefined
  return { identity: object.identity, version: newest.contentVersion ?? newest.version }
}
