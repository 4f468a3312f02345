import { credentialOf, type Sender } from '../model/otlp-requests.ts'
import { MIB } from '../model/time-and-size.ts'
import type { Refusal } from './answer-statuses.ts'

const DEFAULT_MAX_BYTES = 64 * MIB

/** The answer to a request for which the budget has no room. */
export const BUDGET_EXHAUSTED: Refusal = {
  kind: 'busy',
  retryAfterMs: 1000,
  cause: 'in_flight',
  reason: 'too many bytes of other requests are being taken in; send this one again later',
}

/** The share of the budget that a sender may hold in unfinished requests even when others need room. */
const SHARE_WHILE_READING = 0.125
/** A request that takes longer than this to arrive, in milliseconds, loses its share. */
const SOON_MS = 2_000

/** What one sender holds in requests that are still being read. */
interface Holder {
  bytes: number
  readonly reservations: Set<Reservation>
}

/**
 * Limits how many bytes of requests are read and ingested at once, over all receivers. A request that is alone always has
 * room: otherwise one larger than the budget could never arrive.
 *
 * A sender that holds less than its share, an eighth of the budget, takes room from requests that are still being read. These are
 * refused in this order: the largest of the sender that holds most, if that sender is over its share or the request has been
 * arriving for two seconds; then larger ones of the same sender, because many may share an address or a credential. So a sender
 * that never finishes its requests cannot keep others out, and a sender that is alone may use the whole budget.
 */
export class InFlight {
  /** 64 MiB unless given. */
  readonly maxBytes: number
  /** For reservations: decides which connection is read next. */
  readonly fairness = new ReadFairness()
  #bytes = 0
  readonly #share: number
  readonly #nowMs: () => number
  readonly #reading = new Map<string, Holder>()

  constructor(maxBytes = DEFAULT_MAX_BYTES, nowMs: () => number = () => performance.now()) {
    this.maxBytes = maxBytes
    this.#share = maxBytes * SHARE_WHILE_READING
    this.#nowMs = nowMs
  }

  /** Bytes held by requests at this moment. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Reserves for one request; dispose of the reservation when the request is answered. `holder` names the sender.
   */
  open(holder = ''): Reservation {
    return new Reservation(this, holder, this.#nowMs())
  }

  /** For reservations: whether there is room for `more` bytes, counting what unfinished requests of others would give up. */
  fits(reservation: Reservation, more: number): boolean {
    if (this.#hasRoom(reservation.held, more)) return true
    const freed = this.#reservationsToEnd(reservation, more).reduce((sum, { held }) => sum + held, 0)
    return this.#bytes - freed + more <= this.maxBytes
  }

  /** For reservations: counts `more` bytes, and refuses other requests to make room. False when there is no room. */
  take(reservation: Reservation, more: number): boolean {
    if (!this.#hasRoom(reservation.held, more)) {
      if (!this.fits(reservation, more)) return false
      for (const other of this.#reservationsToEnd(reservation, more)) {
        if (this.#hasRoom(reservation.held, more)) break
        other.end()
      }
    }
    this.#bytes += more
    this.countRead(reservation, more)
    return true
  }

  /** For reservations: frees bytes. */
  giveBack(bytes: number): void {
    this.#bytes -= bytes
  }

  /** For reservations: a request that is still being read holds this many bytes more. */
  countRead(reservation: Reservation, more: number): void {
    if (!reservation.isBeingRead) return
    const { holder } = reservation
    let found = this.#reading.get(holder)
    if (found === undefined) this.#reading.set(holder, (found = { bytes: 0, reservations: new Set() }))
    found.bytes += more
    found.reservations.add(reservation)
  }

  /** For reservations: a request is no longer being read. */
  forgetRead(reservation: Reservation): void {
    const found = this.#reading.get(reservation.holder)
    if (found?.reservations.delete(reservation) !== true) return
    found.bytes -= reservation.held
    if (found.reservations.size === 0) this.#reading.delete(reservation.holder)
  }

  #hasRoom(held: number, more: number): boolean {
    return this.#bytes === held || this.#bytes + more <= this.maxBytes
  }

  /** The requests to refuse, in order, so that this one can have `more` bytes. */
  #reservationsToEnd(reservation: Reservation, more: number): Reservation[] {
    const { holder, held } = reservation
    if (held + more > this.#share) return []
    const own = (this.#reading.get(holder)?.bytes ?? 0) + more
    const longSinceMs = this.#nowMs() - SOON_MS
    const found: Reservation[] = []
    if (own <= this.#share) {
      const others = [...this.#reading].filter(([other, { bytes }]) => other !== holder && bytes > own)
      for (const [, { bytes, reservations }] of others.sort(
        ([, one], [, other]) => other.bytes - one.bytes,
      )) {
        const isOver = bytes > this.#share
        found.push(...largestFirst(reservations, (one) => isOver || one.beganMs < longSinceMs))
      }
    }
    const ofSame = this.#reading.get(holder)?.reservations ?? []
    const isLarger = (one: Reservation): boolean =>
      one !== reservation && one.held > held + more && (one.held > this.#share || one.beganMs < longSinceMs)
    return [...found, ...largestFirst(ofSame, isLarger)]
  }
}

const largestFirst = (
  reservations: Iterable<Reservation>,
  givesWay: (one: Reservation) => boolean,
): Reservation[] => [...reservations].filter(givesWay).sort((one, other) => other.held - one.held)

/** What one request holds of the budget. */
export class Reservation implements Disposable {
  readonly beganMs: number
  readonly #budget: InFlight
  #giveWay: () => void = () => undefined
  #holder: string
  #held = 0
  #state: 'reading' | 'read' | 'ended' = 'reading'

  /** `beganMs` is by the clock of the budget. */
  constructor(budget: InFlight, holder: string, beganMs: number) {
    this.#budget = budget
    this.#holder = holder
    this.beganMs = beganMs
  }

  /** `giveWay` is called when this request is refused to make room for others; its bytes are freed already. */
  onGiveWay(giveWay: () => void): void {
    this.#giveWay = giveWay
  }

  /** Who sends the request. */
  get holder(): string {
    return this.#holder
  }

  /** In bytes. */
  get held(): number {
    return this.#held
  }

  get isBeingRead(): boolean {
    return this.#state === 'reading'
  }

  /** Counts bytes that arrived for it. The connection may be paused until its turn comes. */
  countReceived(connection: object, bytes: number, reading: PausableReading): void {
    this.#budget.fairness.countRead(connection, bytes, { address: this.#holder, reading })
  }

  /** Whether `bytes` more would find room now. */
  fits(bytes: number): boolean {
    return this.#state !== 'ended' && this.#budget.fits(this, bytes)
  }

  /** Takes `bytes` more, or returns false and takes nothing when there is no room. */
  take(bytes: number): boolean {
    if (this.#state === 'ended' || !this.#budget.take(this, bytes)) return false
    this.#held += bytes
    return true
  }

  /** Counts the request toward another sender, once that one is known. */
  chargeTo(holder: string): void {
    this.#budget.forgetRead(this)
    this.#holder = holder
    if (this.#held > 0) this.#budget.countRead(this, this.#held)
  }

  /** The request is complete: from now on it is not refused to make room. */
  markRead(): void {
    if (this.#state !== 'reading') return
    this.#budget.forgetRead(this)
    this.#state = 'read'
  }

  /** Refuses the request and frees its bytes for others. */
  end(): void {
    this[Symbol.dispose]()
    this.#giveWay()
  }

  [Symbol.dispose](): void {
    this.#budget.forgetRead(this)
    this.#budget.giveBack(this.#held)
    this.#held = 0
    this.#state = 'ended'
  }
}

const KIB = 1024
/** Once one turn of the event loop has read this much, connections that send much wait for the next turn. */
const TURN_BYTES = MIB / 4
/** A connection that sends no more than this within `WINDOW_MS` never waits. */
const LITTLE_BYTES = 32 * KIB
const WINDOW_MS = 100
/** The initial flow-control window of HTTP/2. */
export const WINDOW_BYTES = 64 * KIB
/** What a request costs this thread besides its body, expressed in bytes. */
export const REQUEST_BYTES = 8 * KIB
/** What a chunk of a body costs it besides its bytes. */
export const CHUNK_BYTES = 128

/** Reading from a connection, which can be paused. */
export interface PausableReading {
  pause(): void
  resume(): void
}

/** A connection whose address is known. */
interface ReadFrom {
  readonly address: string
  readonly reading: PausableReading
}

interface Connection {
  reading: PausableReading
  bytes: number
  sinceMs: number
  isStopped: boolean
}

/**
 * Limits how much one turn of the event loop reads. A sender of little then waits only a little, on however many connections
 * others send much. Paused connections resume in turn: one address after the other, and within it one connection after the other.
 */
export class ReadFairness {
  readonly #nowMs: () => number
  readonly #soon: (work: () => void) => void
  readonly #connections = new WeakMap<object, Connection>()
  /** Paused connections by address. The order of map and set is the order in which they resume. */
  readonly #waiting = new Map<string, Set<Connection>>()
  #turnBytes = 0
  #isTurnPlanned = false

  constructor(
    nowMs: () => number = () => performance.now(),
    soon: (work: () => void) => void = setImmediate,
  ) {
    this.#nowMs = nowMs
    this.#soon = soon
  }

  /** Counts bytes that were read from a connection. */
  countRead(connection: object, bytes: number, { address, reading }: ReadFrom): void {
    let of = this.#connections.get(connection)
    const nowMs = this.#nowMs()
    if (of === undefined) {
      of = { reading, bytes: 0, sinceMs: nowMs, isStopped: false }
      this.#connections.set(connection, of)
    }
    if (nowMs - of.sinceMs > WINDOW_MS) {
      of.bytes = 0
      of.sinceMs = nowMs
    }
    of.bytes += bytes
    this.#turnBytes += bytes
    this.#turnSoon()
    if (this.#turnBytes > TURN_BYTES && of.bytes > LITTLE_BYTES) this.#stop(of, address, reading)
  }

  #stop(connection: Connection, address: string, reading: PausableReading): void {
    if (connection.isStopped) return
    connection.isStopped = true
    connection.reading = reading
    reading.pause()
    const others = this.#waiting.get(address)
    if (others === undefined) this.#waiting.set(address, new Set([connection]))
    else others.add(connection)
  }

  #turnSoon(): void {
    if (this.#isTurnPlanned) return
    this.#isTurnPlanned = true
    this.#soon(() => {
      this.#isTurnPlanned = false
      this.#turnBytes = 0
      for (let left = TURN_BYTES; left > 0 && this.#waiting.size > 0; left -= WINDOW_BYTES) this.#resumeNext()
      if (this.#waiting.size > 0) this.#turnSoon()
    })
  }

  #resumeNext(): void {
    const [next] = this.#waiting
    if (next === undefined) return
    const [address, connections] = next
    this.#waiting.delete(address)
    const [connection] = connections
    if (connection === undefined) return
    connections.delete(connection)
    if (connections.size > 0) this.#waiting.set(address, connections)
    connection.isStopped = false
    connection.reading.resume()
  }
}

/** The handle inside a socket, which Node's own HTTP server pauses in the same way. */
interface WithHandle {
  readonly _handle?: { readStop?: () => unknown; readStart?: () => unknown } | null
}

/** Pauses a socket that an HTTP/2 session has taken over, on which `socket.pause()` has no effect. */
export function pausableReadingOf(socket: object): PausableReading {
  const { _handle: handle }: WithHandle = socket
  return { pause: () => void handle?.readStop?.(), resume: () => void handle?.readStart?.() }
}

/** Which sender a request counts toward while it is read: a credential at an address, since many may share either. */
export function budgetHolderOf(sender: Sender | undefined, peer: string): string {
  const credential = sender && credentialOf(sender)
  return credential === undefined ? peer : `${credential}@${peer}`
}
