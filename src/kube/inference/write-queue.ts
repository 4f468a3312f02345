import { isOutOfMemory, reasonOf } from '../../model/faults.ts'
import { fingerprintOf } from '../../model/kubernetes-objects.ts'
import type {
  AdmittedRequest,
  AuditedRequest,
  ClusterWrite,
  Observation,
  WatchedVersion,
} from '../../model/kubernetes-observations.ts'
import { nanosOfMs, type UnixNanos } from '../../model/time-and-size.ts'
import {
  collectionRequestOf,
  decidedTogether,
  earlier,
  isThere,
  isWrittenOnTheWay,
  keyOf,
  mayComeAfter,
  mayHaveDoneNothing,
  MOST_ON_THE_WAY,
  nameOf,
  ON_THE_WAY_NS,
  type Pending,
  requestOf,
  seenNs,
  uidOf,
  versionOf,
  wasThere,
  watchedNames,
  writeOf,
} from './pending-write.ts'
import { AdmittedRequests, API_CLOCK_SKEW_NS, isEvictionMark } from './requests-of-writes.ts'
import { SortedQueue } from './sorted-queue.ts'
import { WatchLag } from './watch-lag.ts'

export interface WriteQueueSettings {
  /** How long streams of other resources may take to catch up, at least; longer if they have been further behind. */
  readonly windowNs: bigint
  /** How long to wait for a source that reports the writer; 0 if there is none. */
  readonly whoWaitNs: bigint
  /** The versions of all objects are watched, so requests wait for the version they made. */
  readonly isWatched: boolean
  /** Audit reports requests, and is awaited even if admission has reported the writer. True unless given. */
  readonly isAudited?: boolean
  /** Whether the writer may still report the write itself. Nothing is awaited unless given. */
  readonly awaitsTelling?: (write: ClusterWrite, waitedNs: bigint) => boolean
}

/** A report that cannot be processed as it is, and why. */
interface WriteQueueFault {
  /** The kind and name of an object, as far as they can be read. */
  readonly kind: string
  readonly version: bigint | undefined
  readonly reason: string
}

/** The most faults that are kept until they are taken. Further ones are dropped. */
const MOST_FAULTS = 100

/** What waits in the queue, and what was returned last: plain data from which `WriteQueue` resumes. */
export interface WriteQueueState {
  readonly byKey: Map<string, Pending>
  readonly versioned: readonly Pending[]
  readonly unversioned: readonly Pending[]
  readonly byName: Map<string, Pending[]>
  readonly deletions: Map<string, Pending>
  readonly waiting: Set<Pending>
  readonly given: bigint | undefined
  readonly lastMadeNs: UnixNanos
}

/** Versions made at the same moment get times one nanosecond apart. There are fewer of them than this. */
const MOST_AT_ONCE_NS = nanosOfMs(1)

/** The most versions that a request is compared with when it has waited for long enough. */
const MOST_JOINED_EARLY = 64

/**
 * Combines what the sources of a cluster report of each write, and returns writes in order of their versions. A write that is reported
 * after later ones were returned comes late, and out of order.
 */
export class WriteQueue {
  readonly #settings: WriteQueueSettings
  readonly #byKey: Map<string, Pending>
  readonly #versioned: SortedQueue<Pending>
  /** The items of `#versioned`, by the uid of their object. */
  readonly #byUid = new Map<string, Set<Pending>>()
  /** Watched versions without a request: by object name, and by namespace and resource for requests without a name. */
  readonly #watchedByName = new Map<string, Set<Pending>>()
  /** Requests whose answer names no version, by the time they ended, and by object. Each joins the version that it made. */
  readonly #unversioned: SortedQueue<Pending>
  readonly #byName: Map<string, Pending[]>
  /** Waiting requests that deleted an object, by its uid. */
  readonly #deletions: Map<string, Pending>
  /** All that wait, in order of arrival. */
  readonly #waiting: Set<Pending>
  /** The version that was returned last. */
  #given: bigint | undefined
  /** `aheadNs` of the version that was returned last. */
  #givenAheadNs: UnixNanos | undefined
  /** The time by which the last returned write had been made. */
  #lastMadeNs: UnixNanos
  /** Requests that admission reported, and that may have been refused. Each waits for the version that it made. */
  readonly #admitted: AdmittedRequests
  readonly #lag = new WatchLag()
  #faults: WriteQueueFault[] = []
  #unmatched = 0

  /** `from` is the state of an earlier queue, from which this one resumes. It is not copied. */
  constructor(settings: WriteQueueSettings, from?: WriteQueueState) {
    this.#settings = settings
    this.#byKey = from?.byKey ?? new Map<string, Pending>()
    this.#versioned = new SortedQueue(versionOf, from?.versioned)
    for (const pending of from?.versioned ?? []) {
      this.#index(pending)
      if (pending.audited === undefined) this.#indexWatched(pending)
    }
    this.#unversioned = new SortedQueue(seenNs, from?.unversioned)
    this.#byName = from?.byName ?? new Map<string, Pending[]>()
    this.#deletions = from?.deletions ?? new Map<string, Pending>()
    this.#waiting = from?.waiting ?? new Set()
    this.#given = from?.given
    this.#lastMadeNs = from?.lastMadeNs ?? 0n
    // A version may arrive at the end of the wait for it, and then wait itself.
    this.#admitted = new AdmittedRequests(settings.windowNs + 2n * settings.whoWaitNs)
  }

  /** How many writes wait. */
  get size(): number {
    return this.#waiting.size
  }

  /** Whether a version of an object waits. */
  has(uid: string, version: bigint): boolean {
    return this.#byKey.has(`${uid} ${version}`)
  }

  /** The state, without what admission reported. It is not a copy: store it before the queue changes. */
  get state(): WriteQueueState {
    return {
      ...{ byKey: this.#byKey, byName: this.#byName, deletions: this.#deletions, waiting: this.#waiting },
      ...{ versioned: this.#versioned.items, unversioned: this.#unversioned.items },
      ...{ given: this.#given, lastMadeNs: this.#lastMadeNs },
    }
  }

  /** The arrival time of the oldest waiting report: everything reported before is decided. Undefined if none waits. */
  get oldestNs(): UnixNanos | undefined {
    const [oldest] = this.#waiting
    const admittedNs = this.#admitted.oldestNs
    if (oldest === undefined || admittedNs === undefined) return oldest?.sinceNs ?? admittedNs
    return oldest.sinceNs < admittedNs ? oldest.sinceNs : admittedNs
  }

  /**
   * How many requests were given up since the last call: those reported by admission that made no reported write, creations whose name
   * neither an audit log nor a watch reported, and, of a cluster that is not watched, deletions of collections that no answer lists.
   */
  takeUnmatched(): number {
    const unmatched = this.#unmatched + this.#admitted.takeUnmatched()
    this.#unmatched = 0
    return unmatched
  }

  /** How long a write should wait for lower versions of other streams. */
  waitNs(nowNs: UnixNanos): bigint {
    return this.#lag.waitNs(this.#settings.windowNs, nowNs)
  }

  /** What could not be added or combined with other reports, since the last call. */
  takeFaults(): WriteQueueFault[] {
    return this.#faults.splice(0)
  }

  /** A report that cannot be read is left out and returned by `takeFaults`. */
  add(observation: Observation, nowNs: UnixNanos): void {
    try {
      this.#add(observation, nowNs)
    } catch (thrown) {
      this.#noteFault(observation, thrown)
    }
  }

  #add(observation: Observation, nowNs: UnixNanos): void {
    const { version } = observation
    if (observation.source === 'admission') this.#admitted.add(observation, nowNs)
    else if (version !== undefined) this.#addVersioned(observation, version, nowNs)
    else this.#addUnversioned(observation, nowNs)
  }

  /**
   * The writes that can be decided now, lowest version first, `most` or a few more. A write that waits for its writer holds back all
   * above it. `windowNs` is how long each waits for lower versions of other streams; `isBehind`, that some stream has yet to catch up.
   */
  takeDue(
    nowNs: UnixNanos,
    most = Infinity,
    { windowNs, isBehind } = { windowNs: this.waitNs(nowNs), isBehind: false },
  ): ClusterWrite[] {
    const due: ClusterWrite[] = []
    for (
      let next = this.#versioned.first;
      next !== undefined && due.length < most;
      next = this.#versioned.first
    ) {
      this.#attempt(next, () => this.#join(next, nowNs - next.sinceNs >= this.#settings.whoWaitNs))
      if (!this.#isDue(next, nowNs, windowNs) || this.#awaitsEnclosing(next, nowNs, windowNs)) break
      if (this.#settings.awaitsTelling?.(writeOf(next), nowNs - next.sinceNs) === true) break
      this.#attempt(next, () => this.#joinCollection(next))
      this.#takeUnversioned(seenNs(next), due, isBehind, next.version)
      this.#takeDeletionsBefore(next, due)
      this.#versioned.shift()
      this.#unindex(next)
      this.#given = next.version
      this.#givenAheadNs = next.aheadNs
      this.#byKey.delete(keyOf(next))
      this.#forgetDeletion(next)
      this.#waiting.delete(next)
      if (next.joined !== undefined) this.#waiting.delete(next.joined)
      due.push(writeOf(next, this.#madeNs(next)))
    }
    if (this.#versioned.first === undefined) this.#takeUnversioned(nowNs - windowNs, due, isBehind)
    // Requests are kept while an older write waits, so that each version still finds the request that made it.
    const [oldest] = this.#waiting
    this.#admitted.dropOld(oldest?.sinceNs ?? nowNs)
    return due
  }

  /**
   * The time by which a version had been made. Versions of one queue keep their order, however far their watches are behind one another.
   */
  #madeNs({ madeNs }: Pending): UnixNanos | undefined {
    if (madeNs === undefined) return undefined
    const lastNs = this.#lastMadeNs
    this.#lastMadeNs = lastNs >= madeNs && lastNs - madeNs < MOST_AT_ONCE_NS ? lastNs + 1n : madeNs
    return this.#lastMadeNs
  }

  #addVersioned(observation: Exclude<Observation, AdmittedRequest>, version: bigint, nowNs: UnixNanos): void {
    const key = `${observation.object.uid} ${version}`
    const known = this.#byKey.get(key)
    const pending: Pending = known ?? { sinceNs: nowNs, version }
    if (observation.source === 'audit') pending.audited ??= observation
    else pending.watched ??= observation
    if (pending.audited === undefined) this.#indexWatched(pending)
    else this.#unindexWatched(pending)
    if (observation.source === 'audit' && observation.gone)
      this.#deletions.set(observation.object.uid, pending)
    if (known !== undefined) return
    this.#byKey.set(key, pending)
    this.#waiting.add(pending)
    const above = this.#versioned.add(pending)
    this.#index(pending)
    if (observation.source === 'audit') return
    pending.madeNs = earlier(observation.seenNs, above?.madeNs)
    pending.aheadNs = earlier(nowNs, above?.aheadNs)
    if (observation.source !== 'watch' || observation.by !== 'event') return
    const isLate = this.#given !== undefined && version < this.#given
    const aheadNs = isLate ? earlier(pending.aheadNs, this.#givenAheadNs) : pending.aheadNs
    this.#lag.note(nowNs - aheadNs, nowNs)
  }

  #index(pending: Pending): void {
    addTo(this.#byUid, uidOf(pending), pending)
  }

  #indexWatched(pending: Pending): void {
    for (const name of watchedNames(pending)) addTo(this.#watchedByName, name, pending)
  }

  #unindex(pending: Pending): void {
    dropFrom(this.#byUid, uidOf(pending), pending)
    this.#unindexWatched(pending)
  }

  #unindexWatched(pending: Pending): void {
    for (const name of watchedNames(pending)) dropFrom(this.#watchedByName, name, pending)
  }

  #addUnversioned(audited: AuditedRequest, nowNs: UnixNanos): void {
    const name = nameOf(audited.object)
    const waiting = this.#byName.get(name) ?? []
    const { auditId, verb } = audited.request
    const isKnown = waiting.some(
      ({ audited: one }) => one?.request.auditId === auditId && one?.request.verb === verb,
    )
    if (isKnown) return
    const pending = { sinceNs: nowNs, version: undefined, audited }
    this.#byName.set(name, [...waiting, pending])
    this.#unversioned.add(pending)
    this.#waiting.add(pending)
  }

  #isDue(pending: Pending, nowNs: UnixNanos, windowNs: bigint): boolean {
    const waitedNs = nowNs - pending.sinceNs
    const { whoWaitNs, isAudited = true } = this.#settings
    if (waitedNs < windowNs) return false
    const isOver = pending.audited !== undefined || waitedNs >= whoWaitNs || wasThere(pending)
    if (isOver || !isAudited) this.#attempt(pending, () => this.#admit(pending))
    return isOver || pending.admitted !== undefined
  }

  /**
   * Whether a write that the API server made while serving another request still waits for that request's write: until both can be decided
   * together, or until the writes just after it are due, one of which may be that write.
   */
  #awaitsEnclosing(pending: Pending, nowNs: UnixNanos, windowNs: bigint): boolean {
    const earliestNs = nowNs - windowNs - ON_THE_WAY_NS
    const longerNs = earliestNs - pending.sinceNs
    const isOver = longerNs >= this.#settings.whoWaitNs && longerNs >= ON_THE_WAY_NS
    if (isOver || !isWrittenOnTheWay(pending)) return false
    if (longerNs < 0n) return true
    const behind = this.#versioned.behind(MOST_ON_THE_WAY)
    const count = decidedTogether(pending, behind)
    return behind.some((one, at) => {
      if (at < count && isWrittenOnTheWay(one) && one.sinceNs > earliestNs) return true
      const isAwaited = count > 0 ? at < count : one.sinceNs <= pending.sinceNs + ON_THE_WAY_NS
      return isAwaited && !this.#isDue(one, nowNs, windowNs)
    })
  }

  /** Takes the request that made the write from those that admission reported. */
  #admit(pending: Pending): void {
    const { watched, audited } = pending
    if (pending.admitted !== undefined || watched?.source === 'list') return
    pending.admitted = this.#admitted.takeFor({ watched, audited })
  }

  /** Adds requests without a version to `due`. Where versions are watched, each first waits `whoWaitNs` for its version. */
  #takeUnversioned(untilNs: UnixNanos, due: ClusterWrite[], isBehind: boolean, below?: bigint): void {
    const { whoWaitNs, isWatched } = this.#settings
    const given = this.#given
    // If no resourceVersion is free between the last returned one and `below`, the request came before the last returned version.
    const after = given !== undefined && given + 1n === below ? given - 1n : given
    for (let next = this.#unversioned.first; next !== undefined; next = this.#unversioned.first) {
      const atNs = isWatched ? next.sinceNs + whoWaitNs : seenNs(next)
      if (atNs > untilNs) return
      if (this.#joinWaiting(next)) continue
      this.#drop(next)
      this.#waiting.delete(next)
      if (next.audited?.mayBeDryRun || (isWatched && mayHaveDoneNothing(next))) continue
      if (next.audited?.object.name === '') {
        // A watch has shown all that a collection deleted.
        if (!isWatched || next.audited.request.verb !== 'delete') this.#unmatched++
        continue
      }
      this.#attempt(next, () => this.#admit(next))
      // If versions are watched, the request has waited while later writes were returned, so these are not before it.
      const isUnseen = isWatched && !isBehind
      due.push({ ...writeOf(next), after: isWatched ? undefined : after, isUnseen })
    }
  }

  /** Whether a waiting version was made by a request. It joins the request before it is due itself. */
  #joinWaiting(request: Pending): boolean {
    if (request.audited === undefined) return false
    const name = nameOf(request.audited.object)
    const untilNs = request.sinceNs + this.#settings.whoWaitNs
    const possible = [...(this.#watchedByName.get(name) ?? [])].filter(
      (one) => mayComeAfter(request, seenNs(one)) && seenNs(one) < untilNs,
    )
    const versions = possible.slice(0, MOST_JOINED_EARLY)
    for (const version of versions.sort((one, other) => (versionOf(one) < versionOf(other) ? -1 : 1))) {
      if (request.isOneOfSeveral === true) break
      this.#attempt(version, () => this.#join(version, true))
      if (version.joined === request) return true
    }
    // Otherwise, once this request is given up, another one would seem to have made these versions.
    if (request.isOneOfSeveral === true)
      for (const version of possible) {
        version.isOneOfSeveral = true
        dropFrom(this.#watchedByName, name, version)
      }
    return false
  }

  /** Adds to `due` the deletion of an earlier object of the same name: it came before this write, even if no watch has reported it yet. */
  #takeDeletionsBefore({ watched, audited }: Pending, due: ClusterWrite[]): void {
    const object = (watched ?? audited)?.object
    if (object === undefined) return
    for (const one of this.#byName.get(nameOf(object)) ?? []) {
      const { verb } = one.audited?.request ?? {}
      const uid = one.audited?.object.uid ?? ''
      if (verb !== 'delete' || uid === '' || uid === object.uid) continue
      // Versions of the deleted object still wait, so it may be the later one of this name.
      if ([...(this.#byUid.get(uid) ?? [])].some(isThere)) continue
      this.#drop(one)
      this.#waiting.delete(one)
      due.push(writeOf(one))
    }
  }

  /** If the reports of a write cannot be compared, the write is decided as it is, and the fault stops no other write. */
  #attempt(pending: Pending, work: () => void): void {
    try {
      work()
    } catch (thrown) {
      const told = pending.watched ?? pending.audited
      if (told !== undefined && pending.isFaulty !== true) this.#noteFault(told, thrown)
      pending.isFaulty = true
    }
  }

  /** Running out of memory says nothing about the report. */
  #noteFault(observation: Observation, thrown: unknown): void {
    if (isOutOfMemory(thrown)) throw thrown
    const { source, version, object } = observation as Partial<Observation>
    const name = object === undefined ? '' : ` of ${nameOf(object)}`
    if (this.#faults.length < MOST_FAULTS)
      this.#faults.push({ kind: `${source ?? 'telling'}${name}`, version, reason: reasonOf(thrown) })
  }

  /** Assigns the audited request that made a watched version, by comparing both. */
  #join(pending: Pending, areAllReported: boolean): void {
    const { watched, audited } = pending
    if (watched?.source !== 'watch' || audited !== undefined) return
    const requests = this.#byName.get(nameOf(watched.object)) ?? []
    const others = this.#byUid.get(watched.object.uid) ?? new Set()
    const likeliest = requestOf(watched, requests, areAllReported, others, this.#collectionRequests(watched))
    const made = likeliest ?? (pending.isOneOfSeveral ? undefined : this.#creationOf(watched))
    pending.audited = made?.audited ?? this.#deletionOf(watched)
    if (pending.audited !== undefined) this.#unindexWatched(pending)
    if (made?.audited === undefined) return
    if (isEvictionMark(made.audited.request, watched)) {
      made.hasMarked = true
      const { request } = made.audited
      pending.audited = { ...made.audited, request: { ...request, tellsVersion: true } }
      return
    }
    pending.joined = made
    this.#drop(made)
  }

  /**
   * The request that created an object with a generated name: an audit log without response bodies does not name it. Undefined if several
   * users created such objects at the same time.
   */
  #creationOf({ object, isNew, seenNs: atNs }: WatchedVersion): Pending | undefined {
    if (isNew !== true) return undefined
    const creations = (this.#byName.get(nameOf({ ...object, name: '' })) ?? []).filter(
      (one) => one.audited?.request.verb === 'create' && mayComeAfter(one, atNs),
    )
    const users = new Set(creations.map(({ audited }) => audited?.request.actor.user))
    if (users.size > 1) for (const one of creations) one.isOneOfSeveral = true
    return creations.some(({ isOneOfSeveral }) => isOneOfSeveral) ? undefined : creations[0]
  }

  /** Assigns the deletion of a collection whose answer lists no objects, if no other request for this version was reported in time. */
  #joinCollection(pending: Pending): void {
    const { watched, audited, admitted } = pending
    if (watched?.source !== 'watch' || audited !== undefined || admitted !== undefined) return
    const made = collectionRequestOf(watched, this.#collectionRequests(watched))
    if (made === undefined) return
    made.deleted ??= new Set()
    made.deleted.add(watched.object.uid)
    pending.audited = made.audited
    pending.isOfCollection = true
  }

  #collectionRequests({ object }: WatchedVersion): readonly Pending[] {
    return this.#byName.get(nameOf({ ...object, name: '' })) ?? []
  }

  /**
   * The request that deleted a Pod with a grace period of 0, if this is the first of its two versions: the API server sets the
   * deletionTimestamp, then deletes the Pod, and answers with the second version.
   */
  #deletionOf({ object, version, facts, gone, seenNs: atNs }: WatchedVersion): AuditedRequest | undefined {
    if (gone || fingerprintOf(facts, 'atOnce') !== 'true') return undefined
    const deletion = this.#deletions.get(object.uid)
    if (deletion?.audited === undefined || (deletion.version ?? 0n) <= version) return undefined
    return deletion.audited.request.startNs <= atNs + API_CLOCK_SKEW_NS ? deletion.audited : undefined
  }

  #forgetDeletion(pending: Pending): void {
    const uid = pending.audited?.object.uid ?? ''
    if (this.#deletions.get(uid) === pending) this.#deletions.delete(uid)
  }

  #drop(pending: Pending): void {
    this.#unversioned.remove(pending)
    if (pending.audited === undefined) return
    const name = nameOf(pending.audited.object)
    const left = (this.#byName.get(name) ?? []).filter((one) => one !== pending)
    if (left.length === 0) this.#byName.delete(name)
    else this.#byName.set(name, left)
  }
}

function addTo(index: Map<string, Set<Pending>>, key: string, pending: Pending): void {
  const same = index.get(key)
  if (same === undefined) index.set(key, new Set([pending]))
  else same.add(pending)
}

function dropFrom(index: Map<string, Set<Pending>>, key: string, pending: Pending): void {
  const same = index.get(key)
  same?.delete(pending)
  if (same?.size === 0) index.delete(key)
}
