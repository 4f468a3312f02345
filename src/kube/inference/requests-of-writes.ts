import {
  FINGERPRINT,
  fingerprintOf,
  type ObjectFacts,
  type ObjectIdentity,
} from '../../model/kubernetes-objects.ts'
import type {
  AdmittedRequest,
  ApiRequest,
  AuditedRequest,
  ClusterWrite,
  WatchedVersion,
} from '../../model/kubernetes-observations.ts'
import { parseRfc3339, type UnixNanos } from '../../model/time-and-size.ts'
import { lastSigned } from './read-context.ts'
import { isMarkedAsEvicted } from './write-part.ts'

/** The most requests that wait. Beyond that, the oldest are dropped. */
const MAX_WAITING = 20_000
/** How the API server generates a name: the requested prefix, cut, and five characters of its own. */
const MADE_LENGTH = 5
const MAX_PREFIX = 63 - MADE_LENGTH
/** How far the clocks of the sources may differ. */
const ADMISSION_CLOCK_SKEW_NS = 1_000_000_000n

/** What the other sources report of a write: its version, its request, or both. */
interface ReportedWrite {
  readonly watched: WatchedVersion | undefined
  readonly audited: AuditedRequest | undefined
}

interface Waiting {
  readonly sinceNs: UnixNanos
  readonly key: string
  readonly admitted: AdmittedRequest
  /** Set once an eviction has set its Pod's condition DisruptionTarget, in the version before the one that deletes the Pod. */
  hasMarked?: true
}

/**
 * Requests that admission reported, each until the version that it made is reported. Each names the writer of one write. Many make no
 * write, since they are refused later: those are dropped after a while, and counted.
 */
export class AdmittedRequests {
  readonly #keepNs: bigint
  readonly #byKey = new Map<string, Set<Waiting>>()
  /** In order of arrival. */
  readonly #waiting = new Set<Waiting>()
  #unmatched = 0

  constructor(keepNs: bigint) {
    this.#keepNs = keepNs
  }

  /** How many requests made no reported write, since the last call. */
  takeUnmatched(): number {
    const unmatched = this.#unmatched
    this.#unmatched = 0
    return unmatched
  }

  /** The arrival time of the oldest waiting request. */
  get oldestNs(): UnixNanos | undefined {
    const [oldest] = this.#waiting
    return oldest?.sinceNs
  }

  add(admitted: AdmittedRequest, nowNs: UnixNanos): void {
    const [oldest] = this.#waiting
    if (oldest !== undefined && this.#waiting.size >= MAX_WAITING) this.#drop(oldest)
    const waiting = { sinceNs: nowNs, key: keyOf(admitted), admitted }
    this.#waiting.add(waiting)
    const same = this.#byKey.get(waiting.key)
    if (same === undefined) this.#byKey.set(waiting.key, new Set([waiting]))
    else same.add(waiting)
  }

  /** Drops requests that have waited for long enough. */
  dropOld(nowNs: UnixNanos): void {
    for (const waiting of this.#waiting) {
      if (nowNs - waiting.sinceNs < this.#keepNs) return
      this.#drop(waiting)
    }
  }

  /** Takes the request that made a write out of the waiting ones. Undefined if none is known. */
  takeFor(told: ReportedWrite): AdmittedRequest | undefined {
    let best: Waiting | undefined
    let bestRank: Rank | undefined
    for (const key of keysOf((told.watched ?? told.audited)?.object)) {
      for (const waiting of this.#byKey.get(key) ?? []) {
        const rank = rankOf(waiting, told)
        if (rank === undefined || (bestRank !== undefined && !isBetter(rank, bestRank))) continue
        ;[best, bestRank] = [waiting, rank]
      }
    }
    if (best === undefined) return undefined
    if (isAdmittedEvictionMark(best.admitted, told.watched)) best.hasMarked = true
    else this.#remove(best)
    return best.admitted
  }

  #drop(waiting: Waiting): void {
    this.#remove(waiting)
    this.#unmatched++
  }

  #remove(waiting: Waiting): void {
    this.#waiting.delete(waiting)
    const same = this.#byKey.get(waiting.key)
    same?.delete(waiting)
    if (same?.size === 0) this.#byKey.delete(waiting.key)
  }
}

/**
 * The order of candidates: equal content before content that cannot be compared, then the nearest earlier version, then the first
 * reported.
 */
interface Rank {
  readonly hasContent: boolean
  readonly versionBefore: bigint
}

const isBetter = (one: Rank, other: Rank): boolean =>
  one.hasContent === other.hasContent ? one.versionBefore > other.versionBefore : one.hasContent

/** How well a request fits a write; undefined if it cannot have made it. */
function rankOf({ admitted, hasMarked }: Waiting, { watched, audited }: ReportedWrite): Rank | undefined {
  if (audited !== undefined && !areSame(admitted, audited)) return undefined
  const version = watched?.version ?? audited?.version
  const versionBefore = admitted.versionBefore ?? 0n
  if (version !== undefined && versionBefore >= version) return undefined
  const facts = watched?.facts ?? audited?.facts
  const hasContent = facts !== undefined && isOfContent(admitted, facts)
  if (watched !== undefined) {
    if (admitted.seenNs > watched.seenNs + ADMISSION_CLOCK_SKEW_NS) return undefined
    const isPossible = isAdmittedEvictionMark(admitted, watched)
      ? hasMarked !== true
      : couldMake(admitted, watched, hasContent)
    if (!isPossible) return undefined
  }
  return { hasContent, versionBefore }
}

/** Whether both sources report the same request. A patch may create an object, so the verb only tells deletions apart. */
function areSame({ request, seenNs }: AdmittedRequest, { request: other }: AuditedRequest): boolean {
  return (
    request.actor.user === (other.actor.impersonated ?? other.actor.user) &&
    request.subresource === other.subresource &&
    (request.verb === 'delete') === (other.verb === 'delete') &&
    seenNs >= other.startNs - ADMISSION_CLOCK_SKEW_NS &&
    seenNs <= other.endNs + ADMISSION_CLOCK_SKEW_NS
  )
}

/** Whether the version is the first of an eviction's two: the one that sets the condition DisruptionTarget. */
function isAdmittedEvictionMark({ request }: AdmittedRequest, version: WatchedVersion | undefined): boolean {
  if (version === undefined || version.gone || version.facts.deleting) return false
  return request.subresource === 'eviction' && isMarkedAsEvicted(version.facts)
}

function couldMake(
  { object, request: { verb, subresource }, facts }: AdmittedRequest,
  version: WatchedVersion,
  hasContent: boolean,
): boolean {
  if (verb === 'delete' || subresource === 'eviction') return version.gone || version.facts.deleting
  if (subresource === 'binding') return !version.gone && fingerprintOf(version.facts, 'node') !== ''
  if (verb === 'create') return version.isNew === true && !version.gone
  if (facts === undefined || object.apiVersion !== version.object.apiVersion) return !version.gone
  return hasContent
}

function isOfContent({ facts }: AdmittedRequest, of: ObjectFacts): boolean {
  if (
    facts === undefined ||
    fingerprintOf(facts, FINGERPRINT.authored) !== fingerprintOf(of, FINGERPRINT.authored)
  )
    return false
  return fingerprintOf(facts, FINGERPRINT.heartbeat) === fingerprintOf(of, FINGERPRINT.heartbeat)
}

function keyOf({ object, generateName }: AdmittedRequest): string {
  if (object.uid !== '') return `uid ${object.uid}`
  return generateName === ''
    ? nameKey(object, object.name)
    : prefixKey(object, generateName.slice(0, MAX_PREFIX))
}

/** The lookup keys of requests that may have made a version of an object. */
function keysOf(object: ObjectIdentity | undefined): string[] {
  if (object === undefined) return []
  const { uid, name } = object
  const keys = [nameKey(object, name), prefixKey(object, name.slice(0, -MADE_LENGTH))]
  return uid === '' ? keys : [`uid ${uid}`, ...keys]
}

const nameKey = ({ resource, namespace }: ObjectIdentity, name: string): string =>
  `name ${resource}/${namespace}/${name}`
const prefixKey = ({ resource, namespace }: ObjectIdentity, prefix: string): string =>
  `prefix ${resource}/${namespace}/${prefix}`

/** How far the API server's clock may be ahead of the clock that times the versions of a watch. */
export const API_CLOCK_SKEW_NS = 1_000_000_000n

/** Whether a request whose answer names no version may have made a version that a watch reported. */
export function mayHaveMade(
  { object, request, gone, facts }: AuditedRequest,
  version: WatchedVersion,
  hasMarked: boolean,
): boolean {
  if (request.startNs > version.seenNs + API_CLOCK_SKEW_NS) return false
  // A later entry in managedFields shows another writer. One in the future shows nothing: it is of a clock that was set back since.
  const signedNs = lastSigned(version.facts)
  const hasCome = signedNs <= version.seenNs + API_CLOCK_SKEW_NS
  if (hasCome && signedNs > request.endNs + SIGNED_LATER_NS) return false
  if (object.uid !== '' && object.uid !== version.object.uid) return false
  // A patch or an update may create an object. A request for a subresource cannot.
  if (version.isNew === true && (request.subresource !== '' || request.verb === 'delete')) return false
  if (isEvictionMark(request, version)) return !hasMarked
  if (request.verb === 'delete' && gone)
    return version.gone || fingerprintOf(version.facts, 'atOnce') === 'true'
  if (request.verb === 'delete' || request.subresource === 'eviction')
    return version.gone || version.facts.deleting
  if (request.subresource === 'binding') return isJustBound(version)
  if (gone) return version.gone
  // No source reports what the request did. It may have removed the last finalizer of the object.
  const mayComplete = facts === undefined && request.verb !== 'create' && version.facts.deleting
  return !version.gone || mayComplete
}

/** How much later than the end of its request a version's entry in managedFields may be: API servers' clocks differ. */
const SIGNED_LATER_NS = 3_000_000_000n
/** Times in managedFields are cut to the second. */
const SIGNED_TO_NS = 1_000_000_000n

/**
 * Whether a version shows that a request made it: by one of the newest entries in managedFields. Deletions, bindings and evictions leave no
 * entry and always count as shown; a scaling may leave one without a time. A request that changed nothing leaves none.
 */
export function isShownBy(version: WatchedVersion, request: ApiRequest): boolean {
  const { verb, subresource, startNs, endNs } = request
  if (verb === 'delete' || subresource === 'binding' || subresource === 'eviction') return true
  const [program = ''] = request.actor.userAgent.split('/', 1)
  const { manager = program } = request
  const own = version.facts.managers.filter(
    (one) => one.manager === manager && one.subresource === subresource,
  )
  if (subresource === 'scale' && own.some(({ time }) => time === '')) return true
  const signedNs = lastSigned(version.facts)
  const isMeanwhile = signedNs <= endNs && signedNs + SIGNED_TO_NS > startNs
  return isMeanwhile && own.some(({ time }) => parseRfc3339(time) === signedNs)
}

/** Whether a version is the first of an eviction's two: the one that sets the condition DisruptionTarget. */
export function isEvictionMark({ subresource }: ApiRequest, { gone, facts }: WatchedVersion): boolean {
  return subresource === 'eviction' && !gone && !facts.deleting && isMarkedAsEvicted(facts)
}

/** Whether a Pod has a node but no address yet: a binding whose version was not seen made no later version than this. */
function isJustBound({ gone, facts }: WatchedVersion): boolean {
  return !gone && !facts.deleting && facts.prints.node !== '' && fingerprintOf(facts, 'slice') === ''
}

/** Audit knows times and versions, admission has the trace. Without audit, the time of a write is the time its version was seen. */
export function combinedRequest(
  audited: ApiRequest | undefined,
  admitted: ApiRequest | undefined,
  seenNs: UnixNanos,
): ApiRequest | undefined {
  if (admitted === undefined) return audited
  const { traceparent } = admitted
  if (audited !== undefined) return traceparent === undefined ? audited : { ...audited, traceparent }
  return { ...admitted, endNs: seenNs > admitted.startNs ? seenNs : admitted.startNs }
}

/** The API server's own writes are made while it serves a request, or as the user that maintains its own objects. */
const API_SERVER = 'system:apiserver'
/** The fields by which an object that the API server writes while serving a request names the object that it writes next. */
const WRITTEN_NEXT = ['disrupted', 'allocated for']

/** Whether the API server made this write while serving a request for another object. */
export function isOnTheWay({
  request,
  facts,
  object,
}: Pick<ClusterWrite, 'request' | 'facts' | 'object'>): boolean {
  const names = facts?.references.some(({ field }) => WRITTEN_NEXT.includes(field)) ?? false
  const isQuota = object.resource === 'resourcequotas'
  if (request === undefined) return names || (isQuota && isSignedByServer(facts))
  return request.actor.user === API_SERVER && (names || isQuota)
}

/** Whether the API server made a write while serving the request of a later one, `next`. */
export function isMadeFor({ object, facts, request }: ClusterWrite, next: ClusterWrite): boolean {
  if (isOnTheWay(next) || next.object.uid === object.uid) return false
  const isAround =
    request === undefined ||
    next.request === undefined ||
    (next.request.startNs <= request.startNs && next.request.endNs >= request.endNs)
  if (!isAround) return false
  const isNamed = facts?.references.some(
    ({ field, resource, namespace, name }) =>
      WRITTEN_NEXT.includes(field) &&
      resource === next.object.resource &&
      namespace === next.object.namespace &&
      name === next.object.name,
  )
  if (isNamed === true) return true
  return (
    object.resource === 'resourcequotas' &&
    next.request !== undefined &&
    object.namespace === next.object.namespace
  )
}

/** Whether the API server has the latest entry in managedFields, as when it counts in a quota. The quota controller has another name. */
export function isSignedByServer(facts: ObjectFacts | undefined): boolean {
  const managers = facts?.managers ?? []
  const latest = managers.reduce((time, one) => (one.time > time ? one.time : time), '')
  const last = managers.filter(({ time }) => time === latest)
  return last.length > 0 && last.every(({ manager }) => manager === 'kube-apiserver')
}
