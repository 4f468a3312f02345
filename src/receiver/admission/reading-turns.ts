import { MIB } from '../../model/sizes.ts'

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
export interface Reading {
  stop(): void
  goOn(): void
}

/** A connection whose address is known. */
export interface ReadFrom {
  readonly address: string
  readonly reading: Reading
}

interface Connection {
  reading: Reading
  bytes: number
  sinceMs: number
  isStopped: boolean
}

/**
 * Bounds what is read in one turn of the event loop, so that who sends little waits for little, on however many connections others
 * send much. Those that wait are read on in turn: one address after the other, and the connections of each.
 */
export class ReadingTurns {
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

  #stop(connection: Connection, address: string, reading: Reading): void {
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
export function readingOf(socket: object): Reading {
  const { _handle: handle }: WithHandle = socket
  return { stop: () => void handle?.readStop?.(), goOn: () => void handle?.readStart?.() }
}
