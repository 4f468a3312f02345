import { noCounts } from '../graph/record-request.ts'
import type { IngestOutcome, RequestFlow } from '../model/otlp-requests.ts'
import { FairQueue, type Queued } from '../platform/fair-queue.ts'
import type { PendingRequest } from './ingest-rounds.ts'
import type { StorageHealth } from './storage-health.ts'
import type { FromStore, ToStore } from './store-messages.ts'
import type { StoreWriter } from './store-writer.ts'

export type Ingest = Extract<ToStore, { kind: 'ingest' }>

/** A message and what the writer makes of it, one object as long as it waits. */
interface WaitingIngest extends WaitingRequest {
  readonly id: number
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly pending: PendingRequest
}

interface IngestTurnParts {
  writer: StoreWriter
  post: (message: FromStore) => void
  health: StorageHealth
  /** A clock that never goes back. */
  nowMs: () => number
}

/** Stores what waits, one commit a turn, and has it answered. */
export class IngestTurns {
  readonly #parts: IngestTurnParts
  readonly #waiting: WaitingRequests<WaitingIngest>

  constructor(parts: IngestTurnParts) {
    this.#parts = parts
    this.#waiting = new WaitingRequests<WaitingIngest>(new FlowShares(parts.nowMs))
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Whether a flow costs much beside others that cost little. */
  get isMixed(): boolean {
    return this.#waiting.isMixed
  }

  add({ id, signal, bytes, hash, sender, client, peer, flow }: Ingest): void {
    const pending = { signal, bytes: bufferOf(bytes), hash: bufferOf(hash), ...(sender && { sender }) }
    this.#waiting.add({ id, bytes, client, peer, flow, pending })
  }

  turn(): void {
    const { writer, post, health, nowMs } = this.#parts
    const { requests, mayTakeMs } = this.#waiting.take()
    const startedMs = nowMs()
    if (health.isDamaged) {
      const outcome = failure(health.fault?.reason ?? '')
      this.#waiting.took([], requests.length)
      post({
        kind: 'ingested',
        outcomes: requests.map(({ id }) => ({ id, outcome })),
        counts: noCounts(),
        commitMs: 0,
      })
      return
    }
    const { outcomes, costsMs, counts, error } = writer.ingest(
      requests.map(({ pending }) => pending),
      () => nowMs() - startedMs < mayTakeMs,
    )
    if (error === undefined) health.worked()
    else outcomes.fill(failure(health.failed(error)))
    this.#waiting.took(costsMs, outcomes.length)
    const stored = requests.slice(0, outcomes.length)
    const failed: IngestOutcome = { kind: 'failed', reason: 'no outcome' }
    post({
      kind: 'ingested',
      outcomes: stored.map(({ id }, at) => ({ id, outcome: outcomes[at] ?? failed })),
      counts,
      commitMs: nowMs() - startedMs,
    })
    for (const { bytes } of stored) release(bytes)
  }
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** Gives the memory back at once: the garbage collector sees how small the object is, and lets many of them wait. */
function release(bytes: Uint8Array<ArrayBuffer>): void {
  bytes.buffer.transfer(0)
}

function failure(reason: string): IngestOutcome {
  return { kind: 'failed', reason: `nothing was stored: ${reason}` }
}

/** One commit for all that waits, up to so many milliseconds of work, which the commit doubles: whoever comes next waits for it. */
const COMMIT_MS = 20
/** The same while a flow costs much beside others that cost little, so that these do not wait long. */
const MIXED_COMMIT_MS = 4
/** Clients, the peers of each, and the flows of each peer. */
const LEVELS = 3

interface WaitingRequest extends RequestFlow {
  readonly bytes: { readonly length: number }
}

/** What makes up a commit. What takes longer than `mayTakeMs` is put back and goes on later. */
interface Batch<T> {
  readonly requests: readonly T[]
  readonly mayTakeMs: number
}

interface QueuedRequest<T> extends Queued {
  readonly request: T
  /** What it took so far. */
  spentMs: number
}

/**
 * Requests that wait to be stored, and which of them make up the next commit. Those of flows that cost little beside another
 * that costs much have commits of their own: they do not wait until the other's are stored too. The two take turns, and the
 * costly one's commits are short.
 */
export class WaitingRequests<T extends WaitingRequest> {
  readonly #light = new FairQueue<QueuedRequest<T>>(LEVELS)
  readonly #heavy = new FairQueue<QueuedRequest<T>>(LEVELS)
  readonly #shares: FlowShares
  #wasLight = false
  #taken: readonly QueuedRequest<T>[] = []
  #takenFrom = this.#heavy
  /** The one that was begun and is not stored whole; another is not begun before. */
  #begun: QueuedRequest<T> | undefined

  constructor(shares: FlowShares) {
    this.#shares = shares
  }

  get size(): number {
    return this.#light.size + this.#heavy.size + (this.#begun === undefined ? 0 : 1)
  }

  /** Whether a flow costs much beside others that cost little. */
  get isMixed(): boolean {
    return this.#shares.isMixed
  }

  add(request: T): void {
    const costMs = this.#shares.estimate(request, request.bytes.length)
    const isLight = this.#shares.add(request, costMs)
    const waiting = { path: [request.client, request.peer, request.flow], costMs, request, spentMs: 0 }
    if (isLight) this.#light.add(waiting)
    else this.#heavy.add(waiting)
  }

  take(): Batch<T> {
    const hasHeavy = this.#heavy.size > 0 || this.#begun !== undefined
    const isLightsTurn = this.#light.size > 0 && (!hasHeavy || !this.#wasLight)
    this.#wasLight = isLightsTurn
    const mayTakeMs = !isLightsTurn && this.#shares.isMixed ? MIXED_COMMIT_MS : COMMIT_MS
    this.#takenFrom = isLightsTurn ? this.#light : this.#heavy
    if (isLightsTurn) this.#taken = this.#light.take(mayTakeMs)
    else if (this.#begun === undefined) this.#taken = this.#heavy.take(mayTakeMs)
    else {
      this.#taken = [this.#begun]
      this.#begun = undefined
    }
    // Light ones are few and small: they are not cut.
    return {
      requests: this.#taken.map(({ request }) => request),
      mayTakeMs: isLightsTurn ? Infinity : mayTakeMs,
    }
  }

  /** What became of those that were taken: how long each took, and how many, the first ones, are stored. */
  took(costsMs: readonly number[], stored: number): void {
    this.#taken.forEach((waiting, at) => {
      const { request, costMs, spentMs } = waiting
      const isStored = at < stored
      waiting.spentMs += costsMs[at] ?? 0
      // Until it is stored whole it counts as what was thought, or as what it took already if that is more.
      const paidMs = Math.max(costMs, spentMs)
      const moreMs = (isStored ? waiting.spentMs : Math.max(costMs, waiting.spentMs)) - paidMs
      this.#shares.correct(request, moreMs)
      this.#takenFrom.correct(waiting, moreMs)
      if (isStored) this.#shares.measured(request, request.bytes.length, waiting.spentMs)
    })
    this.#begun = this.#taken[stored] ?? this.#begun
    this.#heavy.putBack(this.#taken.slice(stored + 1))
    this.#taken = []
  }
}

const WINDOW_MS = 1_000
/** A flow that costs less than this part of what the costliest costs is light. */
const LIGHT_PART = 0.25
/** What a byte is taken to cost before anything of its flow was stored: a span of 300 bytes takes 5 µs. */
const USUAL_MS_PER_BYTE = 15e-6
/** How much the last measurement counts beside those before. */
const NEW_PART = 0.3

/**
 * What each flow cost the store thread of late, and so which are light beside another that is heavy. A peer's flows count
 * together too: who makes names up is no lighter by that.
 */
export class FlowShares {
  readonly #nowMs: () => number
  #flows = new Costs()
  #peers = new Costs()
  #endsMs = -Infinity
  #isMixedNow = false
  #wasMixed = false

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Whether some flow was light in this second or in the one before. */
  get isMixed(): boolean {
    this.#roll()
    return this.#isMixedNow || this.#wasMixed
  }

  /** What so many bytes of a flow will take, in milliseconds, going by those before. */
  estimate({ flow, peer }: RequestFlow, bytes: number): number {
    return bytes * (this.#flows.msPerByte(flow) ?? this.#peers.msPerByte(peer) ?? USUAL_MS_PER_BYTE)
  }

  /** Notes what a flow is going to cost; true when it is light. */
  add({ flow, peer }: RequestFlow, ms: number): boolean {
    this.#roll()
    const cost = Math.max(this.#flows.add(flow, ms), this.#peers.add(peer, ms))
    const isLight = cost < LIGHT_PART * Math.max(this.#flows.largest, this.#peers.largest)
    if (isLight) this.#isMixedNow = true
    return isLight
  }

  /** A flow took so much more than was noted, or less. */
  correct({ flow, peer }: RequestFlow, moreMs: number): void {
    this.#flows.add(flow, moreMs)
    this.#peers.add(peer, moreMs)
  }

  /** So many bytes of it took so long. */
  measured({ flow, peer }: RequestFlow, bytes: number, ms: number): void {
    const msPerByte = ms / Math.max(1, bytes)
    this.#flows.measured(flow, msPerByte)
    this.#peers.measured(peer, msPerByte)
  }

  #roll(): void {
    const nowMs = this.#nowMs()
    if (nowMs < this.#endsMs) return
    const isNext = nowMs < this.#endsMs + WINDOW_MS
    this.#wasMixed = isNext && this.#isMixedNow
    this.#isMixedNow = false
    this.#flows = isNext ? this.#flows.next() : new Costs()
    this.#peers = isNext ? this.#peers.next() : new Costs()
    this.#endsMs = nowMs + WINDOW_MS
  }
}

interface Cost {
  ms: number
  msPerByte: number | undefined
}

const blend = (before: number | undefined, now: number): number =>
  before === undefined ? now : before + (now - before) * NEW_PART

/** What each cost in this second and in the one before. */
class Costs {
  readonly #before: ReadonlyMap<number, Cost>
  readonly #largestBefore: number
  readonly #now = new Map<number, Cost>()
  #largestNow = 0

  constructor(before: ReadonlyMap<number, Cost> = new Map(), largestBefore = 0) {
    this.#before = before
    this.#largestBefore = largestBefore
  }

  get largest(): number {
    return Math.max(this.#largestNow, this.#largestBefore)
  }

  next(): Costs {
    return new Costs(this.#now, this.#largestNow)
  }

  /** Returns the larger of what it cost in either second. */
  add(who: number, ms: number): number {
    const cost = this.#of(who)
    cost.ms += ms
    this.#largestNow = Math.max(this.#largestNow, cost.ms)
    return Math.max(cost.ms, this.#before.get(who)?.ms ?? 0)
  }

  measured(who: number, msPerByte: number): void {
    const cost = this.#of(who)
    cost.msPerByte = blend(cost.msPerByte, msPerByte)
  }

  msPerByte(who: number): number | undefined {
    return (this.#now.get(who) ?? this.#before.get(who))?.msPerByte
  }

  #of(who: number): Cost {
    let cost = this.#now.get(who)
    if (cost === undefined) {
      cost = { ms: 0, msPerByte: this.#before.get(who)?.msPerByte }
      this.#now.set(who, cost)
    }
    return cost
  }
}
