import type { InTurn } from '../../model/ingest.ts'
import { FairQueue, type Queued } from './fair-queue.ts'
import type { FlowShares } from './flow-shares.ts'

/** One commit for all that waits, up to so many milliseconds of work, which the commit doubles: whoever comes next waits for it. */
const COMMIT_MS = 20
/** The same while a flow costs much beside others that cost little, so that these do not wait long. */
const MIXED_COMMIT_MS = 4
/** Clients, the peers of each, and the flows of each peer. */
const LEVELS = 3

export interface WaitingRequest extends InTurn {
  readonly bytes: { readonly length: number }
}

/** What makes up a commit. What takes longer than `mayTakeMs` is put back and goes on later. */
export interface Batch<T> {
  readonly requests: readonly T[]
  readonly mayTakeMs: number
}

interface Waiting<T> extends Queued {
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
  readonly #light = new FairQueue<Waiting<T>>(LEVELS)
  readonly #heavy = new FairQueue<Waiting<T>>(LEVELS)
  readonly #shares: FlowShares
  #wasLight = false
  #taken: readonly Waiting<T>[] = []
  #takenFrom = this.#heavy
  /** The one that was begun and is not stored whole; another is not begun before. */
  #begun: Waiting<T> | undefined

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
