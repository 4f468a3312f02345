import type { ClusterObjects } from '../../model/inference-store.ts'
import { fingerprintOf, type ObjectFacts } from '../../model/kubernetes-objects.ts'
import type { ClusterEvent, ClusterWrite, Observation } from '../../model/kubernetes-observations.ts'
import { nanosOfMs, type UnixNanos } from '../../model/time-and-size.ts'
import { wantsFewerReplicas } from './read-versions.ts'
import { isMadeFor, isOnTheWay } from './requests-of-writes.ts'
import { WriteQueue, type WriteQueueSettings, type WriteQueueState } from './write-queue.ts'

/** Writes and Events that can be processed now. */
export interface InferenceWork {
  readonly writes: readonly ClusterWrite[]
  readonly events: readonly ClusterEvent[]
}

interface WaitingEvent {
  readonly event: ClusterEvent
  readonly sinceNs: UnixNanos
}

interface Telling {
  readonly row: number
  readonly toldNs: UnixNanos
  readonly bytes: number
}

/** The queued work of a cluster, as plain data from which `ClusterInference` resumes. */
export interface ClusterInferenceState {
  readonly line: WriteQueueState
  readonly events: readonly WaitingEvent[]
  readonly tellings: readonly Telling[]
}

/**
 * Holds what is reported of one cluster until it is processed: writes in their queue, and Events until all earlier writes are decided.
 * Tracks which reports are fully processed.
 */
export class ClusterInference {
  readonly streams = new LaggingStreams()
  readonly line: WriteQueue
  readonly #settings: WriteQueueSettings
  readonly #events: WaitingEvent[]
  /** Reports whose rows are still stored, in order of arrival. */
  readonly #tellings: Telling[]
  #work: InferenceWork | undefined
  #bytes: number

  /** `from` is the state of an earlier instance, from which this one resumes. */
  constructor(settings: WriteQueueSettings, from?: ClusterInferenceState) {
    this.line = new WriteQueue(settings, from?.line)
    this.#settings = settings
    this.#events = [...(from?.events ?? [])]
    this.#tellings = [...(from?.tellings ?? [])]
    this.#bytes = this.#tellings.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Everything that waits, except what admission reported. Must be stored before anything else happens. */
  get waiting(): ClusterInferenceState {
    return { line: this.line.state, events: this.#events, tellings: this.#tellings }
  }

  /** How many writes and Events wait. */
  get size(): number {
    return this.line.size + this.#events.length
  }

  /** The size of all waiting reports, as they arrived. */
  get bytes(): number {
    return this.#bytes
  }

  add(
    told: readonly (Observation | ClusterEvent)[],
    { row, bytes }: { row: number; bytes: number },
    nowNs: UnixNanos,
  ): void {
    this.#tellings.push({ row, toldNs: nowNs, bytes })
    this.#bytes += bytes
    for (const one of told) {
      if (one.source === 'event') this.#events.push({ event: one, sinceNs: nowNs })
      else this.line.add(one, nowNs)
    }
  }

  /**
   * About `most` items of what can be processed. Returns the same items again until `worked` is called. Without `mayWait` writes wait for
   * the configured window and no longer, however far watches are behind.
   */
  take(nowNs: UnixNanos, most: number, mayWait: boolean): InferenceWork {
    if (this.#work !== undefined) return this.#work
    const windowNs = mayWait ? this.line.waitNs(nowNs) : this.#settings.windowNs
    const writes = this.line.takeDue(nowNs, most, { windowNs, isBehind: this.streams.areBehind })
    const eventsWaitNs = windowNs + this.#settings.whoWaitNs
    const events: ClusterEvent[] = []
    for (let next = this.#events[0]; next !== undefined && events.length < most; next = this.#events[0]) {
      if (nowNs - next.sinceNs < eventsWaitNs) break
      events.push(next.event)
      this.#events.shift()
    }
    if (writes.length + events.length > 0) this.#work = { writes, events }
    return { writes, events }
  }

  /** The row up to which everything is processed once the taken work is done; undefined if there is none. */
  get workedRow(): number | undefined {
    const oldestNs = this.#oldestNs
    return this.#tellings.findLast(({ toldNs }) => oldestNs === undefined || toldNs < oldestNs)?.row
  }

  /** Some report is fully processed and need not be kept. */
  get hasWorked(): boolean {
    const [first] = this.#tellings
    const oldestNs = this.#oldestNs
    return first !== undefined && (oldestNs === undefined || first.toldNs < oldestNs)
  }

  /** Call this once the results of the taken work are durable. Drops the reports that are fully processed. */
  worked(): void {
    this.#work = undefined
    const oldestNs = this.#oldestNs
    for (let next = this.#tellings[0]; next !== undefined; next = this.#tellings[0]) {
      if (oldestNs !== undefined && next.toldNs >= oldestNs) break
      this.#bytes -= next.bytes
      this.#tellings.shift()
    }
  }

  get #oldestNs(): UnixNanos | undefined {
    const [line, event] = [this.line.oldestNs, this.#events[0]?.sinceNs]
    if (line === undefined || event === undefined) return line ?? event
    return line < event ? line : event
  }
}

/** How long reports may wait for streams that are behind. An API server that does not answer must not hold up other sources. */
const LONGEST_WAIT_NS = nanosOfMs(10_000)

/** A watch that resumes within this time was not behind. One that was away for longer may have much to report, or still has to list. */
const AT_ONCE_NS = nanosOfMs(200)
const CATCH_UP_NS = nanosOfMs(3_000)
const NOBODY = ''

/**
 * Tracks whether some streams of a cluster are behind the others. After a start and after watches restart, versions of one resource can
 * arrive before older ones of another, and would be decided without them.
 */
class LaggingStreams {
  readonly #behind = new Set<string>()
  #sinceNs: UnixNanos = 0n
  /** Until when streams that have resumed may still report what they missed. */
  #untilNs: UnixNanos = 0n

  /** Waits for streams that have not reported their state yet. */
  awaitFirst(nowNs: UnixNanos): void {
    this.report(NOBODY, true, nowNs)
  }

  /** `watcher` has streams that are behind, or no longer has any. */
  report(watcher: string, isBehind: boolean, nowNs: UnixNanos): void {
    if (watcher !== NOBODY) this.#behind.delete(NOBODY)
    if (!isBehind) {
      const wasBehind = this.#behind.delete(watcher) && this.#behind.size === 0
      if (wasBehind && nowNs - this.#sinceNs > AT_ONCE_NS) this.#untilNs = nowNs + CATCH_UP_NS
    } else {
      if (this.#behind.size === 0) this.#sinceNs = nowNs
      this.#behind.add(watcher)
    }
  }

  /** Some stream has yet to catch up, whether or not it is still waited for. */
  get areBehind(): boolean {
    return this.#behind.size > 0
  }

  areAwaited(nowNs: UnixNanos): boolean {
    if (this.#behind.size > 0) return nowNs - this.#sinceNs < LONGEST_WAIT_NS
    return nowNs < this.#untilNs
  }
}

/** What is copied from an owner, by fingerprint name. */
const COPIED = ['template', 'wanted']

/** Reorders writes so that each comes after what it follows from, even if that has a higher version. `known` is what is decided. */
export function inCausalOrder(
  writes: readonly ClusterWrite[],
  known: Pick<ClusterObjects, 'get'>,
): readonly ClusterWrite[] {
  return orderOwnersFirst(orderRequestsFirst(writes, known), known)
}

/** The most later writes among which the requested write is searched. */
const MOST_LOOKED_AT = 256

/**
 * Moves each write that the API server made while serving another request behind that request's write, and with it what was written of
 * its object in between. The API server counts an eviction in its budget, counts a new object in its quota, and allocates addresses before
 * it stores the requested object.
 */
function orderRequestsFirst(
  writes: readonly ClusterWrite[],
  known: Pick<ClusterObjects, 'get'>,
): readonly ClusterWrite[] {
  /** The writes that are moved, by the place of the write that they come behind. */
  const behind = new Map<number, ClusterWrite[]>()
  const moved = new Set<ClusterWrite>()
  /** By object, the place behind which its last moved write comes. */
  const placeOf = new Map<string, number>()
  const seen = new Set<string>()
  const isNew = ({ object: { uid }, gone }: ClusterWrite): boolean =>
    !gone && !seen.has(uid) && known.get(uid) === undefined
  for (const [at, write] of writes.entries()) {
    seen.add(write.object.uid)
    const later = isOnTheWay(write) ? writes.slice(at + 1, at + 1 + MOST_LOOKED_AT) : []
    const next = later.findIndex((one) => isMadeFor(write, one) || (isNew(one) && isCountedBy(write, one)))
    const { object, version } = later[next] ?? {}
    const place = Math.max(at + 1 + next, placeOf.get(write.object.uid) ?? 0)
    if (place <= at) continue
    placeOf.set(write.object.uid, place)
    moved.add(write)
    const isWithin = object !== undefined && version !== undefined
    const one = isWithin ? { ...write, within: { uid: object.uid, version } } : write
    behind.set(place, [...(behind.get(place) ?? []), one])
  }
  if (behind.size === 0) return writes
  return writes.flatMap((write, at) => [...(moved.has(write) ? [] : [write]), ...(behind.get(at) ?? [])])
}

/** How soon after counting a new object in a quota the API server stores it. */
const COUNTED_WITHIN_NS = 200_000_000n

/** Whether, without an audit log, a quota was written just before an object that it counts. */
function isCountedBy({ object, facts, request, seenNs }: ClusterWrite, next: ClusterWrite): boolean {
  if (object.resource !== 'resourcequotas' || request !== undefined) return false
  if (next.object.namespace !== object.namespace || next.seenNs - seenNs > COUNTED_WITHIN_NS) return false
  return (
    facts?.references.some(
      ({ field, resource }) => field === 'counted' && resource === next.object.resource,
    ) === true
  )
}

/**
 * Moves objects that a later list shows for the first time before the objects they own. After a lost watch only the last version of an
 * object is known, which is above the versions of everything made for it or copied from it meanwhile. `known` is what is decided.
 */
function orderOwnersFirst(
  writes: readonly ClusterWrite[],
  known: Pick<ClusterObjects, 'get'>,
): readonly ClusterWrite[] {
  if (!writes.some(isListedLater)) return writes
  const listed = new Map<string, ClusterWrite>()
  for (const write of writes) {
    const { uid } = write.object
    if (isListedLater(write) && !listed.has(uid)) listed.set(uid, write)
  }
  const ordered = new Set<ClusterWrite>()
  /** The facts of objects at this point of the queue, from writes that are not decided yet. */
  const before = new Map<string, ObjectFacts>()
  const put = (write: ClusterWrite): void => {
    for (const { uid } of write.facts?.owners ?? []) {
      const owner = listed.get(uid)
      if (owner === undefined) continue
      const newest = before.get(uid) ?? known.get(uid)?.versions[0]?.facts
      const own = before.get(write.object.uid) ?? known.get(write.object.uid)?.versions[0]?.facts
      if (!isReadAlready(owner, write, newest) && !areBothChanged(owner, newest, write, own)) continue
      // An object that is being placed is not visited again: an object cannot own itself, but its owner references may claim so.
      listed.delete(uid)
      put(owner)
    }
    ordered.add(write)
    if (write.facts !== undefined) before.set(write.object.uid, write.facts)
  }
  for (const write of writes) if (!ordered.has(write)) put(write)
  return [...ordered]
}

/**
 * The write must have read the listed version of the owner: no earlier version is known, or none with the copied content, or none that
 * wanted fewer objects than there are.
 */
function isReadAlready(
  owner: ClusterWrite,
  { facts }: ClusterWrite,
  newest: ObjectFacts | undefined,
): boolean {
  if (newest === undefined || facts === undefined) return true
  if (facts.deleting && owner.facts !== undefined && wantsFewerReplicas(owner.facts, newest)) return true
  return COPIED.some((print) => {
    const copy = fingerprintOf(facts, print)
    const shown = owner.facts && fingerprintOf(owner.facts, print)
    return copy !== undefined && copy === shown && copy !== fingerprintOf(newest, print)
  })
}

/**
 * The list shows that an author changed both the owner and the object while the watch was down: the change of the object was wanted for
 * its owner.
 */
function areBothChanged(
  owner: ClusterWrite,
  ownerBefore: ObjectFacts | undefined,
  write: ClusterWrite,
  before: ObjectFacts | undefined,
): boolean {
  const isChanged = ({ facts }: ClusterWrite, known: ObjectFacts | undefined): boolean =>
    facts !== undefined && known !== undefined && facts.generation > known.generation
  return isListedLater(write) && isChanged(owner, ownerBefore) && isChanged(write, before)
}

/** Where requests are reported, they report the earlier versions as well. */
function isListedLater({ listed, gone, request }: ClusterWrite): boolean {
  return listed === 'later' && !gone && request === undefined
}
