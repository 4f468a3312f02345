import type { ClusterObjects } from '../../model/inference-store.ts'
import { fingerprintOf, type ObjectFacts } from '../../model/kubernetes-objects.ts'
import type { ClusterEvent, ClusterWrite, Observation } from '../../model/kubernetes-observations.ts'
import { nanosOfMs, type UnixNanos } from '../../model/time-and-size.ts'
import { wantsFewerReplicas } from './read-versions.ts'
import { isOnTheWay, WRITTEN_NEXT } from './requests-of-writes.ts'
import {
  WriteQueue,
  type WriteQueueFault,
  type WriteQueueSettings,
  type WriteQueueState,
} from './write-queue.ts'

/** Writes and Events that can be worked on now. */
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

/** What waits of a cluster: plain data, of which `ClusterInference` goes on. */
export interface ClusterInferenceState {
  readonly line: WriteQueueState
  readonly events: readonly WaitingEvent[]
  readonly tellings: readonly Telling[]
}

/**
 * What is told of one cluster, from the telling until it is worked on: writes in their line, and Events until those writes are
 * decided that came before them. Knows which tellings are worked on whole.
 */
export class ClusterInference {
  readonly streams = new LaggingStreams()
  readonly #line: WriteQueue
  readonly #eventsWaitNs: bigint
  readonly #events: WaitingEvent[]
  /** Whose row is there still, in the order in which they were told. */
  readonly #tellings: Telling[]
  #work: InferenceWork | undefined
  #bytes: number

  /** `from` is where another one stood, which this one goes on from. */
  constructor(settings: WriteQueueSettings, from?: ClusterInferenceState) {
    this.#line = new WriteQueue(settings, from?.line)
    this.#eventsWaitNs = settings.windowNs + settings.whoWaitNs
    this.#events = [...(from?.events ?? [])]
    this.#tellings = [...(from?.tellings ?? [])]
    this.#bytes = this.#tellings.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** All that waits, without what admission told. To be written down before anything else happens. */
  get waiting(): ClusterInferenceState {
    return { line: this.#line.state, events: this.#events, tellings: this.#tellings }
  }

  /** How many writes and Events wait. */
  get size(): number {
    return this.#line.size + this.#events.length
  }

  /** How many requests that admission told of made no write, since the last call. */
  takeUnmatched(): number {
    return this.#line.takeUnmatched()
  }

  /** What could not be worked on, since the last call. */
  takeFaults(): WriteQueueFault[] {
    return this.#line.takeFaults()
  }

  /** What all that was told takes, as it was handed over. */
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
      else this.#line.add(one, nowNs)
    }
  }

  /** Some of what can be worked on, about `most` of it; the same again until it is `worked`. */
  take(nowNs: UnixNanos, most: number): InferenceWork {
    if (this.#work !== undefined) return this.#work
    const writes = this.#line.takeDue(nowNs, most)
    const events: ClusterEvent[] = []
    for (let next = this.#events[0]; next !== undefined && events.length < most; next = this.#events[0]) {
      if (nowNs - next.sinceNs < this.#eventsWaitNs) break
      events.push(next.event)
      this.#events.shift()
    }
    if (writes.length + events.length > 0) this.#work = { writes, events }
    return { writes, events }
  }

  /** The last row that is worked on whole, with all before, once the work that was taken is; undefined where none is. */
  get workedRow(): number | undefined {
    const oldestNs = this.#oldestNs
    return this.#tellings.findLast(({ toldNs }) => oldestNs === undefined || toldNs < oldestNs)?.row
  }

  /** Some telling is worked on whole, and need not be kept. */
  get hasWorked(): boolean {
    const [first] = this.#tellings
    const oldestNs = this.#oldestNs
    return first !== undefined && (oldestNs === undefined || first.toldNs < oldestNs)
  }

  /** What was taken is durable. */
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
    const [line, event] = [this.#line.oldestNs, this.#events[0]?.sinceNs]
    if (line === undefined || event === undefined) return line ?? event
    return line < event ? line : event
  }
}

/** How long what was told may wait for streams that are behind: a server that does not answer keeps no other source from being heard. */
const LONGEST_WAIT_NS = nanosOfMs(10_000)

/** A watch that goes on at once was not behind; one that was away for longer may have much to tell, or say at first that it must list. */
const AT_ONCE_NS = nanosOfMs(200)
const CATCH_UP_NS = nanosOfMs(3_000)
const NOBODY = ''

/**
 * Whether streams of a cluster are behind the others: after a start, and when watches begin anew, versions of one resource come
 * before older ones of another, and would be decided without them.
 */
class LaggingStreams {
  readonly #behind = new Set<string>()
  #sinceNs: UnixNanos = 0n
  /** Until when streams that are there again may still tell of what came meanwhile. */
  #untilNs: UnixNanos = 0n

  /** Streams are awaited of which nobody has said anything yet. */
  awaitFirst(nowNs: UnixNanos): void {
    this.report(NOBODY, true, nowNs)
  }

  /** `watcher` has streams that are behind, or none any more. */
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

  areAwaited(nowNs: UnixNanos): boolean {
    if (this.#behind.size > 0) return nowNs - this.#sinceNs < LONGEST_WAIT_NS
    return nowNs < this.#untilNs
  }
}

/** What is copied from an owner, by the names of its fingerprints. */
const COPIED = ['template', 'wanted']

/** Writes with each behind what it follows from, where that has a higher version. `known` is what is decided. */
export function inCausalOrder(
  writes: readonly ClusterWrite[],
  known: Pick<ClusterObjects, 'get'>,
): readonly ClusterWrite[] {
  return orderOwnersFirst(orderRequestsFirst(writes), known)
}

/** How many writes are looked at for the one that follows. */
const MOST_LOOKED_AT = 256

/**
 * Writes with each that the API server made on the way to another behind that other: it counts an eviction in its budget, and what is made
 * in its quota, and allocates addresses, before it stores what was asked for.
 */
function orderRequestsFirst(writes: readonly ClusterWrite[]): readonly ClusterWrite[] {
  const around = new Map<ClusterWrite, ClusterWrite>()
  for (const [at, write] of writes.entries()) {
    if (!isOnTheWay(write)) continue
    const next = writes.slice(at + 1, at + 1 + MOST_LOOKED_AT).find((one) => isMadeFor(write, one))
    if (next !== undefined) around.set(write, next)
  }
  if (around.size === 0) return writes
  const behind = Map.groupBy(around.keys(), (write) => around.get(write))
  return writes.flatMap((write): ClusterWrite[] => {
    if (around.has(write)) return []
    const { object, version } = write
    const onTheWay = (behind.get(write) ?? []).map((one) =>
      version === undefined ? one : { ...one, within: { uid: object.uid, version } },
    )
    return [write, ...onTheWay]
  })
}

/** Whether a write was made on the way to a later one. */
function isMadeFor({ object, facts, request }: ClusterWrite, next: ClusterWrite): boolean {
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

/**
 * Writes with what a later list shows for the first time before what it owns: of a watch that was lost it has the last version alone,
 * which is above those of all that was made for it, or copied from it, meanwhile. `known` is what is decided.
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
  /** What stands before by then, of writes that are not decided yet. */
  const before = new Map<string, ObjectFacts>()
  const put = (write: ClusterWrite): void => {
    for (const { uid } of write.facts?.owners ?? []) {
      const owner = listed.get(uid)
      if (owner === undefined) continue
      const newest = before.get(uid) ?? known.get(uid)?.versions[0]?.facts
      const own = before.get(write.object.uid) ?? known.get(write.object.uid)?.versions[0]?.facts
      if (!isReadAlready(owner, write, newest) && !areBothChanged(owner, newest, write, own)) continue
      // What is on its way in already is not looked at again: nobody owns itself, but anybody may say so.
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
 * A version of an owner that was there before a write, since no other can have been: none is known, or none with what was copied, or
 * none that wanted fewer than there are.
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

/** Somebody wants something else of both than was known: what a list shows of an object was wanted of it for its owner. */
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

/** Where requests are told as well, those tell of the versions before. */
function isListedLater({ listed, gone, request }: ClusterWrite): boolean {
  return listed === 'later' && !gone && request === undefined
}
