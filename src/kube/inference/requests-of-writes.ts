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
import type { UnixNanos } from '../../model/time-and-size.ts'
import { isMarkedAsEvicted } from './write-part.ts'

/** More than these do not wait: the oldest go. */
const MAX_WAITING = 20_000
/** How the API server makes a name: what is asked for, cut, and five characters of its own. */
const MADE_LENGTH = 5
const MAX_PREFIX = 63 - MADE_LENGTH
/** How much the clocks of those who tell may differ. */
const ADMISSION_CLOCK_SKEW_NS = 1_000_000_000n

/** What is known of a write by others: its version, or the request itself, or both. */
interface ReportedWrite {
  readonly watched: WatchedVersion | undefined
  readonly audited: AuditedRequest | undefined
}

interface Waiting {
  readonly sinceNs: UnixNanos
  readonly key: string
  readonly admitted: AdmittedRequest
  /** The eviction that it is has marked the Pod in a version before the one that deletes it. */
  hasMarked?: true
}

/**
 * Requests that admission told of, until the version that one of them made is told. Each says of one write who made it; many say
 * so of none, since they were refused in the end: those are dropped after a while, and counted.
 */
export class AdmittedRequests {
  readonly #keepNs: bigint
  readonly #byKey = new Map<string, Set<Waiting>>()
  /** Those that were told first are first. */
  readonly #waiting = new Set<Waiting>()
  #unmatched = 0

  constructor(keepNs: bigint) {
    this.#keepNs = keepNs
  }

  /** How many made no write that anybody told of, since the last call. */
  takeUnmatched(): number {
    const unmatched = this.#unmatched
    this.#unmatched = 0
    return unmatched
  }

  /** Since when the one waits that waits longest. */
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

  /** Drops what has waited for long enough. */
  dropOld(nowNs: UnixNanos): void {
    for (const waiting of this.#waiting) {
      if (nowNs - waiting.sinceNs < this.#keepNs) return
      this.#drop(waiting)
    }
  }

  /** The request that made a write; it is used up. Undefined where none is known. */
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

/** The same content before none to compare, then the version before that is nearest, then the one that was told first. */
interface Rank {
  readonly hasContent: boolean
  readonly versionBefore: bigint
}

const isBetter = (one: Rank, other: Rank): boolean =>
  one.hasContent === other.hasContent ? one.versionBefore > other.versionBefore : one.hasContent

/** How well a request fits a write; undefined where it cannot have made it. */
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

/** The same request, told of by both. A patch may create: by the verbs only deletions are known. */
function areSame({ request, seenNs }: AdmittedRequest, { request: other }: AuditedRequest): boolean {
  return (
    request.actor.user === other.actor.user &&
    request.subresource === other.subresource &&
    (request.verb === 'delete') === (other.verb === 'delete') &&
    seenNs >= other.startNs - ADMISSION_CLOCK_SKEW_NS &&
    seenNs <= other.endNs + ADMISSION_CLOCK_SKEW_NS
  )
}

/** An eviction makes two versions, the first of which marks the Pod. */
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

/** Where requests are to be found that may have made a version of an object. */
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

/** How much the clock of the API server may be ahead of that by which the watch's versions are timed. */
export const API_CLOCK_SKEW_NS = 1_000_000_000n

/** Whether a request whose answer names no version may have made one that a watch told of. */
export function mayHaveMade(
  { object, request, gone, facts }: AuditedRequest,
  version: WatchedVersion,
  hasMarked: boolean,
): boolean {
  if (request.startNs > version.seenNs + API_CLOCK_SKEW_NS) return false
  if (object.uid !== '' && object.uid !== version.object.uid) return false
  // A patch or an update may make an object, a subresource of one does not.
  if (version.isNew === true && (request.subresource !== '' || request.verb === 'delete')) return false
  if (isEvictionMark(request, version)) return !hasMarked
  if (request.verb === 'delete' && gone)
    return version.gone || fingerprintOf(version.facts, 'atOnce') === 'true'
  if (request.verb === 'delete' || request.subresource === 'eviction')
    return version.gone || version.facts.deleting
  if (request.subresource === 'binding') return isJustBound(version)
  if (gone) return version.gone
  // Nobody tells what it did; it may have taken away what held the object.
  const mayComplete = facts === undefined && request.verb !== 'create' && version.facts.deleting
  return !version.gone || mayComplete
}

export function isEvictionMark({ subresource }: ApiRequest, { gone, facts }: WatchedVersion): boolean {
  return subresource === 'eviction' && !gone && !facts.deleting && isMarkedAsEvicted(facts)
}

/** It has a node, and nothing yet of what comes of having one: a binding whose version nobody saw made no later one. */
function isJustBound({ gone, facts }: WatchedVersion): boolean {
  return !gone && !facts.deleting && facts.prints.node !== '' && fingerprintOf(facts, 'slice') === ''
}

/** Audit knows times and versions; admission has the trace. Without audit, a write was done when its version was seen. */
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

/** What the API server writes itself, it writes for a request that it is about to answer, or as whoever keeps its own objects. */
const API_SERVER = 'system:apiserver'
/** How an object that the API server writes on the way names what it writes next. */
export const WRITTEN_NEXT = ['disrupted', 'allocated for']

/** Whether the API server made it on the way to another write, which it was asked for. */
export function isOnTheWay({
  request,
  facts,
  object,
}: Pick<ClusterWrite, 'request' | 'facts' | 'object'>): boolean {
  const names = facts?.references.some(({ field }) => WRITTEN_NEXT.includes(field)) ?? false
  if (request === undefined) return names
  return request.actor.user === API_SERVER && (names || object.resource === 'resourcequotas')
}
