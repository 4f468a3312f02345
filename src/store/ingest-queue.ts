import { noCounts } from '../model/arrivals.ts'
import type { IngestOutcome, RequestFlow } from '../model/otlp-requests.ts'
import { bufferOf } from '../model/otlp/protobuf-wire.ts'
import { FairQueue, type Queued } from '../platform/fair-queue.ts'
import type { PendingRequest } from './ingest-transactions.ts'
import type { StorageHealth } from './storage-health.ts'
import type { FromStore, ToStore } from './store-messages.ts'
import type { StoreWriter } from './store-writer.ts'

export type Ingest = Extract<ToStore, { kind: 'ingest' }>

/** A request that waits to be stored. */
interface WaitingIngest extends WaitingRequest {
  readonly id: number
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly pending: PendingRequest
}

interface IngestQueueParts {
  writer: StoreWriter
  post: (message: FromStore) => void
  health: StorageHealth
  /** A monotonic clock. */
  nowMs: () => number
}

/** Stores waiting requests, one commit per turn, and answers them. */
export class IngestQueue {
  readonly #parts: IngestQueueParts
  readonly #waiting: WaitingRequests<WaitingIngest>

  constructor(parts: IngestQueueParts) {
    this.#parts = parts
    this.#waiting = new WaitingRequests<WaitingIngest>(new FlowShares(parts.nowMs))
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Whether a costly flow and cheap ones are active at the same time. */
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
    if (error === undefined) health.noteSuccess()
    else outcomes.fill(failure(health.noteFailure(error)))
    this.#waiting.took(costsMs, outcomes.length)
    const stored = requests.slice(0, outcomes.length)
    const failed: IngestOutcome = { kind: 'failed', reason: 'no outcome' }
    post({
      kind: 'ingested',
      outcomes: stored.map(({ id }, at) => ({ id, outcome: outcomes[at] ?? failed })),
      counts,
      ...(counts.points > 0 && { lastDecisions: writer.lastDecisions }),
      commitMs: nowMs() - startedMs,
    })
    for (const { bytes } of stored) release(bytes)
  }
}

/** Frees the memory at once: the garbage collector sees only a small object, and would let many pile up. */
function release(bytes: Uint8Array<ArrayBuffer>): void {
  bytes.buffer.transfer(0)
}

function failure(reason: string): IngestOutcome {
  return { kind: 'failed', reason: `nothing was stored: ${reason}` }
}

/** The most work in one commit, in milliseconds; it doubles the time of a commit, for which the next request waits. */
const COMMIT_MS = 20
/** The limit while costly and cheap flows are active, so that cheap ones do not wait long. */
const MIXED_COMMIT_MS = 4
/** The levels of fair queueing: clients, peers, flows. */
const LEVELS = 3

interface WaitingRequest extends RequestFlow {
  readonly bytes: { readonly length: number }
}

/** The requests of the next commit. What takes longer than `mayTakeMs` is continued in a later commit. */
interface Batch<T> {
  readonly requests: readonly T[]
  readonly mayTakeMs: number
}

interface QueuedRequest<T> extends Queued {
  readonly request: T
  /** The time spent on it so far. */
  spentMs: number
}

/**
 * Requests that wait to be stored; chooses those for the next commit. While a costly flow is active, cheap flows have commits of their own,
 * so that they do not wait for the costly one. Both kinds alternate, and costly commits are short.
 */
export class WaitingRequests<T extends WaitingRequest> {
  readonly #light = new FairQueue<QueuedRequest<T>>(LEVELS)
  readonly #heavy = new FairQueue<QueuedRequest<T>>(LEVELS)
  readonly #shares: FlowShares
  #wasLight = false
  #taken: readonly QueuedRequest<T>[] = []
  #takenFrom = this.#heavy
  /** The costly request that is stored in part. No other costly one begins before it is complete. */
  #begun: QueuedRequest<T> | undefined

  constructor(shares: FlowShares) {
    this.#shares = shares
  }

  get size(): number {
    return this.#light.size + this.#heavy.size + (this.#begun === undefined ? 0 : 1)
  }

  /** Whether a costly flow and cheap ones are active at the same time. */
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
    const light = hasHeavy && this.#wasLight ? [] : this.#takeLight()
    const isLightsTurn = light.length > 0
    this.#wasLight = isLightsTurn
    const mayTakeMs = !isLightsTurn && this.#shares.isMixed ? MIXED_COMMIT_MS : COMMIT_MS
    this.#takenFrom = isLightsTurn ? this.#light : this.#heavy
    if (isLightsTurn) this.#taken = light
    else if (this.#begun === undefined) this.#taken = this.#heavy.take(mayTakeMs)
    else {
      this.#taken = [this.#begun]
      this.#begun = undefined
    }
    return { requests: this.#taken.map(({ request }) => request), mayTakeMs }
  }

  /** Takes cheap requests. Those whose flow turned out costly meanwhile move to the costly ones, unless they are stored in part. */
  #takeLight(): readonly QueuedRequest<T>[] {
    for (;;) {
      const taken = this.#light.take(COMMIT_MS)
      const light: QueuedRequest<T>[] = []
      // Each is judged once, since moving one changes the cost of the others' flows.
      for (const waiting of taken) {
        if (waiting.spentMs > 0 || this.#shares.isLight(waiting.request)) light.push(waiting)
        else this.#moveToHeavy(waiting)
      }
      if (light.length > 0 || taken.length === 0) return light
    }
  }

  #moveToHeavy(waiting: QueuedRequest<T>): void {
    const { request, costMs: thoughtMs } = waiting
    const costMs = this.#shares.estimate(request, request.bytes.length)
    this.#light.correct(waiting, -thoughtMs)
    this.#shares.correct(request, costMs - thoughtMs)
    this.#heavy.add({ ...waiting, costMs })
  }

  /** Reports on the requests of the last `take`: the time of each, and that the first `stored` of them are complete. */
  took(costsMs: readonly number[], stored: number): void {
    const taken = this.#taken
    const left = taken.slice(stored)
    this.#taken = []
    // A cheap request that is incomplete goes back among the cheap ones, not behind the costly one in progress. It is put back first, since
    // corrections apply to queued requests.
    if (this.#takenFrom === this.#light) this.#light.putBack(left)
    else {
      const [begun = this.#begun, ...others] = left
      this.#begun = begun
      this.#heavy.putBack(others)
    }
    taken.forEach((waiting, at) => {
      const { request, costMs, spentMs } = waiting
      const isStored = at < stored
      const tookMs = costsMs[at] ?? 0
      waiting.spentMs += tookMs
      this.#shares.served(request, tookMs)
      // An incomplete request counts as its estimate, or as the time spent if that is more.
      const paidMs = Math.max(costMs, spentMs)
      const moreMs = (isStored ? waiting.spentMs : Math.max(costMs, waiting.spentMs)) - paidMs
      this.#shares.correct(request, moreMs)
      this.#takenFrom.correct(waiting, moreMs)
      if (isStored) this.#shares.measured(request, request.bytes.length, waiting.spentMs)
    })
  }
}

const WINDOW_MS = 1_000
/** A flow is light (cheap) if it costs less than this share of the costliest one. */
const LIGHT_PART = 0.25
/** The estimate for a flow without measurements: 5 µs for a span of 300 bytes. */
const USUAL_MS_PER_BYTE = 15e-6
/** The weight of the newest measurement in the moving average. */
const NEW_PART = 0.3

/**
 * The recent cost of each flow, which makes it light or heavy. Costs are also added up by peer, so that a sender gains nothing by inventing
 * names of flows.
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

  /** Whether some flow was light in this second or the one before. */
  get isMixed(): boolean {
    this.#roll()
    return this.#isMixedNow || this.#wasMixed
  }

  /** Estimates from earlier requests how long these bytes take to store, in milliseconds. */
  estimate({ flow, peer }: RequestFlow, bytes: number): number {
    return bytes * (this.#flows.msPerByte(flow) ?? this.#peers.msPerByte(peer) ?? USUAL_MS_PER_BYTE)
  }

  /** Adds an estimated cost to a flow. Returns whether the flow is light. */
  add({ flow, peer }: RequestFlow, ms: number): boolean {
    this.#roll()
    this.#flows.add(flow, ms)
    this.#peers.add(peer, ms)
    const isLight = this.isLight({ flow, peer })
    if (isLight) this.#isMixedNow = true
    return isLight
  }

  /** Whether a flow is light now. */
  isLight({ flow, peer }: Pick<RequestFlow, 'flow' | 'peer'>): boolean {
    const cost = Math.max(this.#flows.cost(flow), this.#peers.cost(peer))
    return cost < LIGHT_PART * Math.max(this.#flows.largest, this.#peers.largest)
  }

  /** Corrects the cost of a flow by `moreMs`, which may be negative. */
  correct({ flow, peer }: RequestFlow, moreMs: number): void {
    this.#flows.add(flow, moreMs)
    this.#peers.add(peer, moreMs)
  }

  /** Adds the time spent on a flow, whose requests may have waited for seconds. */
  served({ flow, peer }: RequestFlow, ms: number): void {
    this.#roll()
    this.#flows.serve(flow, ms)
    this.#peers.serve(peer, ms)
  }

  /** Records a measurement. */
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
  /** The cost of requests that arrived. */
  ms: number
  /** The cost of requests that were worked on. */
  servedMs: number
  msPerByte: number | undefined
}

const costOf = (cost: Cost | undefined): number => Math.max(cost?.ms ?? 0, cost?.servedMs ?? 0)

const blend = (before: number | undefined, now: number): number =>
  before === undefined ? now : before + (now - before) * NEW_PART

/** Costs by flow or peer, in this second and the one before. */
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

  add(who: number, ms: number): void {
    const cost = this.#of(who)
    cost.ms += ms
    this.#largestNow = Math.max(this.#largestNow, cost.ms)
  }

  serve(who: number, ms: number): void {
    const cost = this.#of(who)
    cost.servedMs += ms
    this.#largestNow = Math.max(this.#largestNow, cost.servedMs)
  }

  /** The larger of its costs in this second and the one before. */
  cost(who: number): number {
    return Math.max(costOf(this.#now.get(who)), costOf(this.#before.get(who)))
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
      cost = { ms: 0, servedMs: 0, msPerByte: this.#before.get(who)?.msPerByte }
      this.#now.set(who, cost)
    }
    return cost
  }
}
