import type { ClusterObjects, KnownObject, KnownVersion } from '../../model/inference-store.ts'
import { fingerprintOf, type ObjectFacts, type ObjectIdentity } from '../../model/kubernetes-objects.ts'
import type { ClusterWrite } from '../../model/kubernetes-observations.ts'
import type { SelfReason } from '../../model/seen-write.ts'
import { expiredBy, keepersOf } from './history.ts'
import { isDeleted } from './read-context.ts'
import type { FoundPrimary } from './primaries.ts'
import type { ReadVersion } from './read-versions.ts'
import type { WritePart } from './write-part.ts'
import { isOfKubernetes, programOf, UNKNOWN, type Writer } from './writers.ts'

/** Why a controller wrote without another write as the cause, and what configured it to. */
export interface SelfBegun {
  readonly reason: SelfReason
  /** The version that configured it, such as the CronJob's; undefined if not known. */
  readonly setUp: { readonly identity: ObjectIdentity; readonly version: bigint } | undefined
}

export interface SelfAsked {
  readonly write: ClusterWrite
  readonly part: WritePart
  readonly writer: Writer
  readonly before: KnownVersion | undefined
  readonly reads: readonly ReadVersion[]
  readonly objects: ClusterObjects
  readonly cluster: string
  /** The writer's primary objects to which the object belongs. */
  readonly primaries: () => readonly FoundPrimary[]
}

/**
 * Whether a controller's write follows from no other write: from a clock, a measurement, or from something that stopped happening.
 * Undefined for all other writes.
 */
export function selfBegun(asked: SelfAsked): SelfBegun | undefined {
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
        : ofLifetime(asked)
  }
}

/** A program deletes an object whose lifetime has ended. */
function ofLifetime(asked: SelfAsked): SelfBegun | undefined {
  const { write, part, writer, before, objects } = asked
  const { object, facts = before?.facts, seenNs } = write
  if (part !== 'deletion' || (isOfKubernetes(writer.service) && writer.service !== UNKNOWN)) return undefined
  const keeper = expiredBy(objects.get(object.uid), facts, keepersOf(object, facts, objects), seenNs)
  const isEnding = keeper !== undefined && keeper.identity.uid !== object.uid && isDeleted(keeper.versions[0])
  return keeper === undefined || isEnding
    ? undefined
    : { reason: 'expiry', setUp: setUpBy(asked, keeper.identity.uid) }
}

function ofCronJob(asked: SelfAsked): SelfBegun | undefined {
  const { part, write, reads } = asked
  if (write.object.resource !== 'jobs' || (part !== 'creation' && part !== 'deletion')) return undefined
  const owner = reads.find(({ identity }) => identity.resource === 'cronjobs')
  // A CronJob that is deleted or being deleted takes its Jobs with it.
  if (owner?.known.gone !== false || owner.known.facts.deleting) return undefined
  const setUp = setUpBy(asked, owner.identity.uid)
  if (part === 'creation') return { reason: 'schedule', setUp }
  return keepsFewer(asked, owner.identity.uid) ? undefined : { reason: 'expiry', setUp }
}

const LAST = 2n ** 62n
/** The most Jobs that are searched. */
const MAX_JOBS = 64

/** Whether somebody has lowered the CronJob's history limit, and no Job has finished since. */
function keepsFewer({ objects, write, before }: SelfAsked, uid: string): boolean {
  const finished = before && fingerprintOf(before.facts, 'finished')
  if (finished === undefined || finished === '') return false
  const changed = lastChanged(objects.get(uid), `keeps ${finished}`)
  if (changed === undefined) return false
  const others = objects.ownedBy(uid, write.object.resource, changed.version, LAST, MAX_JOBS)
  return !others.some(({ versions }) => {
    const end = versions.findLast(({ facts }) => fingerprintOf(facts, 'finished') === finished)
    return versions[0]?.gone === false && end !== undefined && end.version > changed.version
  })
}

/** The newest version in which an operator changed what a fingerprint covers. */
export function lastChanged(object: KnownObject | undefined, print: string): KnownVersion | undefined {
  return object?.versions.find(({ begun, facts }, at) => {
    const then = object.versions[at + 1]
    const [now, earlier] = [fingerprintOf(facts, print), then && fingerprintOf(then.facts, print)]
    return begun === true && earlier !== undefined && now !== earlier
  })
}

/** An autoscaler scales because of a measurement, unless somebody has changed it, or has scaled the same target, since it last scaled. */
function ofAutoscaler(asked: SelfAsked): SelfBegun | undefined {
  const { part, reads, objects, write, writer } = asked
  if (part !== 'scale' && part !== 'authored') return undefined
  const autoscaler = reads.find(({ identity }) => identity.resource === 'horizontalpodautoscalers')
  if (autoscaler === undefined) return undefined
  const last = objects.lastActed(write.object.uid, programOf(writer.service))
  const setUp = setUpBy(asked, autoscaler.identity.uid)
  if (last === 0n || setUp === undefined || setUp.version > last) return undefined
  if ((lastChanged(objects.get(write.object.uid), 'scale')?.version ?? 0n) > last) return undefined
  return { reason: 'metric', setUp }
}

/** The node controller writes a node's status once its kubelet has stopped reporting. */
function ofNode(asked: SelfAsked): SelfBegun | undefined {
  const { part, write } = asked
  if (write.object.resource !== 'nodes' || part !== 'status') return undefined
  return { reason: 'health', setUp: setUpBy(asked, write.object.uid) }
}

function isRenewal({ write: { facts }, before }: SelfAsked): boolean {
  const [now, then] = [facts, before?.facts].map((one) => one && fingerprintOf(one, 'renewing'))
  return now === 'true' && then !== 'true'
}

/** The reason of a controller's write that can follow from nothing that is known. */
export function reasonOfItsOwn({ facts }: ClusterWrite, part: WritePart): SelfReason {
  return part === 'creation' && isOwnCertificate(facts) ? 'renewal' : 'unknown'
}

/** Whether it is a TLS Secret without an owner: its own controller renews it. */
export function isOwnCertificate(facts: ObjectFacts | undefined): boolean {
  return facts?.owners.length === 0 && facts.prints.certificate === 'true'
}

export function setUpBy({ objects, before, write }: SelfAsked, uid: string): SelfBegun['setUp'] {
  const object: KnownObject | undefined = objects.get(uid)
  const newest = uid === write.object.uid ? before : object?.versions[0]
  if (object === undefined || newest === undefined) return undefined
  return { identity: object.identity, version: newest.contentVersion ?? newest.version }
}
