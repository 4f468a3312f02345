import { FairQueue, type Queued } from './fair-queue.ts'
import { FlowShares } from './flow-shares.ts'

/** One commit for all that waits, up to this much: whoever comes next waits for it. */
const MAX_COMMIT_BYTES = 1024 * 1024
/** The same while a flow sends much beside others that send little, so that these do not wait long; one request at least. */
const MIXED_COMMIT_BYTES = 64 * 1024

/**
 * Requests that wait to be stored, and which of them make up the next commit. Those of flows that send little beside another
 * that sends much have commits of their own: they do not wait until the other's are stored too. The two take turns.
 */
export class WaitingRequests<T extends Queued> {
  readonly #light = new FairQueue<T>()
  readonly #heavy = new FairQueue<T>()
  readonly #shares: FlowShares
  #wasLight = false

  constructor(shares = new FlowShares()) {
    this.#shares = shares
  }

  get size(): number {
    return this.#light.size + this.#heavy.size
  }

  /** Whether a flow sends much beside others that send little. */
  get isMixed(): boolean {
    return this.#shares.isMixed
  }

  add(request: T): void {
    const isLight = this.#shares.add(request.flow, request.bytes.length)
    if (isLight) this.#light.add(request)
    else this.#heavy.add(request)
  }

  take(): T[] {
    const isLightsTurn = this.#light.size > 0 && (this.#heavy.size === 0 || !this.#wasLight)
    this.#wasLight = isLightsTurn
    if (isLightsTurn) return this.#light.take(MAX_COMMIT_BYTES)
    return this.#heavy.take(this.#shares.isMixed ? MIXED_COMMIT_BYTES : MAX_COMMIT_BYTES)
  }
}
