import type { Refusal } from './reply.ts'

const MIB = 1024 * 1024
const DEFAULT_MAX_BYTES = 64 * MIB

/** The answer to a request for which the budget has no room. */
export const NO_ROOM: Refusal = {
  kind: 'busy',
  retryAfterMs: 1000,
  cause: 'in_flight',
  reason: 'too many bytes of other requests are being taken in; send this one again later',
}

/**
 * How many bytes of requests may be read and ingested at once, over all receivers that share it. A request that is
 * alone in flight always has room, or one larger than the budget could never arrive.
 */
export class InFlight {
  /** 64 MiB unless given. */
  readonly maxBytes: number
  #bytes = 0

  constructor(maxBytes = DEFAULT_MAX_BYTES) {
    this.maxBytes = maxBytes
  }

  /** Bytes held by requests at this moment. */
  get bytes(): number {
    return this.#bytes
  }

  get isFull(): boolean {
    return this.#bytes >= this.maxBytes
  }

  /** Opens the account of one request; dispose of it when the request is answered. */
  open(): Reservation {
    return new Reservation(
      (held, more) => this.#bytes === held || this.#bytes + more <= this.maxBytes,
      (more) => (this.#bytes += more),
    )
  }
}

/** What one request holds of the budget. */
export class Reservation implements Disposable {
  readonly #hasRoom: (held: number, more: number) => boolean
  readonly #add: (bytes: number) => void
  #held = 0

  constructor(hasRoom: (held: number, more: number) => boolean, add: (bytes: number) => void) {
    this.#hasRoom = hasRoom
    this.#add = add
  }

  /** Whether `bytes` more would find room now. */
  fits(bytes: number): boolean {
    return this.#hasRoom(this.#held, bytes)
  }

  /** Takes `bytes` more, or returns false and takes nothing when there is no room. */
  take(bytes: number): boolean {
    if (!this.fits(bytes)) return false
    this.#held += bytes
    this.#add(bytes)
    return true
  }

  [Symbol.dispose](): void {
    this.#add(-this.#held)
    this.#held = 0
  }
}
