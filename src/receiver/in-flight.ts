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

/** Of the budget: so much a sender may hold in requests that it has not ended, whoever else needs room. */
const SHARE_WHILE_READING = 0.125
/** A request that is read for longer than this, in milliseconds, has no share any more. */
const SOON_MS = 2_000

/** What one sender holds in requests that are still being read. */
interface Holder {
  bytes: number
  readonly reservations: Set<Reservation>
}

/**
 * How many bytes of requests may be read and ingested at once, over all receivers that share it. A request that is
 * alone in flight always has room, or one larger than the budget could never arrive. What is still being read gives way to a
 * sender that is within its share, an eighth of the budget: the largest request ends of the sender that holds most beyond its
 * own share, or has been sending for longer than two seconds; then larger ones of the same sender, since many may share an
 * address and a credential. So nobody keeps others out by not ending what it sends, while whoever is alone may have it all,
 * and of those that send much the first one comes to its end.
 */
export class InFlight {
  /** 64 MiB unless given. */
  readonly maxBytes: number
  /** For reservations: whose connection is read on next. */
  readonly turns = new ReadFairness()
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

  get isFull(): boolean {
    return this.#bytes >= this.maxBytes
  }

  /**
   * Opens the account of one request; dispose of it when the request is answered. `holder` is who sends it.
   */
  open(holder = ''): Reservation {
    return new Reservation(this, holder, this.#nowMs())
  }

  /** For reservations: whether `more` would find room now, if need be what others hold in requests they have not ended. */
  fits(reservation: Reservation, more: number): boolean {
    if (this.#hasRoom(reservation.held, more)) return true
    const givingWay = this.#givingWay(reservation, more).reduce((sum, { held }) => sum + held, 0)
    return this.#bytes - givingWay + more <= this.maxBytes
  }

  /** For reservations: makes room for `more` where that can be done, and counts it; false when it cannot. */
  take(reservation: Reservation, more: number): boolean {
    if (!this.#hasRoom(reservation.held, more)) {
      if (!this.fits(reservation, more)) return false
      for (const other of this.#givingWay(reservation, more)) {
        if (this.#hasRoom(reservation.held, more)) break
        other.end()
      }
    }
    this.#bytes += more
    this.countRead(reservation, more)
    return true
  }

  /** For reservations: what one gives back. */
  giveBack(bytes: number): void {
    this.#bytes -= bytes
  }

  /** For reservations: so much more, or less, is held in a request that is still being read. */
  countRead(reservation: Reservation, more: number): void {
    if (!reservation.isBeingRead) return
    const { holder } = reservation
    let found = this.#reading.get(holder)
    if (found === undefined) this.#reading.set(holder, (found = { bytes: 0, reservations: new Set() }))
    found.bytes += more
    found.reservations.add(reservation)
  }

  /** For reservations: a request is read no more. */
  forgetRead(reservation: Reservation): void {
    const found = this.#reading.get(reservation.holder)
    if (found?.reservations.delete(reservation) !== true) return
    found.bytes -= reservation.held
    if (found.reservations.size === 0) this.#reading.delete(reservation.holder)
  }

  #hasRoom(held: number, more: number): boolean {
    return this.#bytes === held || this.#bytes + more <= this.maxBytes
  }

  /** What gives way to a request that wants so much more, first what does so first. */
  #givingWay(reservation: Reservation, more: number): Reservation[] {
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

  /** `giveWay` is called when the request has to end for others: it holds nothing any more, and gets nothing. */
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

  /** So many bytes came for it over a connection, which may have to wait for its turn to be read on. */
  came(connection: object, bytes: number, reading: PausableReading): void {
    this.#budget.turns.took(connection, bytes, { address: this.#holder, reading })
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

  /** It has turned out who sends the request. */
  belongTo(holder: string): void {
    this.#budget.forgetRead(this)
    this.#holder = holder
    if (this.#held > 0) this.#budget.countRead(this, this.#held)
  }

  /** The request has come whole: from now on it keeps what it has. */
  isRead(): void {
    if (this.#state !== 'reading') return
    this.#budget.forgetRead(this)
    this.#state = 'read'
  }

  /** Ends the request, so that others have what it holds. */
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
/** After so many bytes of one turn of the event loop, connections that send much are read on in another. */
const TURN_BYTES = MIB / 4
/** Who sends no more than this in so many milliseconds never waits. */
const LITTLE_BYTES = 32 * KIB
const WINDOW_MS = 100
/** What a connection sends before it hears that some of it was taken, as HTTP/2 has it. */
const WINDOW_BYTES = 64 * KIB
/** What a request costs this thread besides its bytes, in bytes. */
export const REQUEST_BYTES = 8 * KIB

/** A connection that can be read no further for a while. */
export interface PausableReading {
  stop(): void
  goOn(): void
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
 * Bounds what is read in one turn of the event loop, so that who sends little waits for little, on however many connections others
 * send much. Those that wait are read on in turn: one address after the other, and the connections of each.
 */
export class ReadFairness {
  readonly #nowMs: () => number
  readonly #soon: (work: () => void) => void
  readonly #connections = new WeakMap<object, Connection>()
  /** Those that wait, by address. The maps keep the order of turns. */
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

  /** So many bytes were read of a connection. */
  took(connection: object, bytes: number, { address, reading }: ReadFrom): void {
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
    reading.stop()
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
      for (let left = TURN_BYTES; left > 0 && this.#waiting.size > 0; left -= WINDOW_BYTES)
        this.#goOnWithNext()
      if (this.#waiting.size > 0) this.#turnSoon()
    })
  }

  #goOnWithNext(): void {
    const [next] = this.#waiting
    if (next === undefined) return
    const [address, connections] = next
    this.#waiting.delete(address)
    const [connection] = connections
    if (connection === undefined) return
    connections.delete(connection)
    if (connections.size > 0) this.#waiting.set(address, connections)
    connection.isStopped = false
    connection.reading.goOn()
  }
}

/** What a socket has inside, and Node's own HTTP stops and starts by itself. */
interface WithHandle {
  readonly _handle?: { readStop?: () => unknown; readStart?: () => unknown } | null
}

/** Reading from a socket that an HTTP/2 session has taken over: pausing the socket itself has no effect on it. */
export function pausableReadingOf(socket: object): PausableReading {
  const { _handle: handle }: WithHandle = socket
  return { stop: () => void handle?.readStop?.(), goOn: () => void handle?.readStart?.() }
}

/** To whom is charged what a request holds while it is read: a credential at an address, since many may share either. */
export function budgetHolderOf(sender: Sender | undefined, peer: string): string {
  const credential = sender && credentialOf(sender)
  return credential === undefined ? peer : `${credential}@${peer}`
}
