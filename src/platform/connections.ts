import { isIPv6, type Server, type Socket } from 'node:net'

export interface ConnectionLimits {
  /** The most connections with a request in progress; some more may be open. */
  max: number
  /** The same for one address; `max` by default. */
  maxPerAddress?: number
  /**
   * Whether a connection with a request in progress is closed for a newcomer when no idle one can be: the oldest of the address with the most,
   * if that has at least two more than the newcomer's.
   */
  makesRoom?: boolean
  /** With authentication: the milliseconds within which a connection must show a credential. */
  credentialWithinMs?: number
  /** The setting to raise for more connections of one address. */
  advice?: string
}

/** Why a connection was closed or its request refused: too many in all, too many of its address, or no credential in time. */
export type DropReason = 'limit' | 'address' | 'stranger'

/** The most open connections beyond the limit: idle ones, and those whose requests are refused. */
const MAX_IDLE = 64
/** The most connections that may be closing to make room for others. */
const MAX_CLOSING = 64
/** The most refused newcomers that stay open to get an answer, and for how many milliseconds. */
const MAX_REFUSED = 16
const REFUSED_FOR_MS = 1_000
/** A connection without any request for so long after its start is closed first, in milliseconds. */
const SILENT_MS = 1_000

/** The most open connections, given the most with a request in progress. */
export function openAtMost(max: number): number {
  return max + Math.min(MAX_IDLE, max)
}

/** Identifies an open connection below and above TLS. */
export interface Endpoints {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  readonly localAddress?: string | undefined
}

interface Open {
  readonly socket: Socket
  readonly address: string
  readonly key: string
  /** Its peer, while requests are in progress. */
  peer: string
  requests: number
  /** The socket of its last request, or the TLS socket or HTTP/2 session around it. */
  lastRequestOn: object | undefined
  hasShownCredential: boolean
  /** Since when it is open or idle. */
  sinceMs: number
  isClosing: boolean
  /** A refused newcomer: its requests are refused. */
  readonly isRefused: boolean
  timer?: NodeJS.Timeout
}

/** An admitted request, or why it is refused. */
export type RequestAdmission =
  | {
      readonly kind: 'begun'
      /** Its connection should end with its answer. */
      readonly isLast: boolean
      /** Call it once the request is answered. */
      readonly end: () => void
    }
  | { readonly kind: 'refused'; readonly reason: 'limit' | 'address' }

const UNCOUNTED: RequestAdmission = { kind: 'begun', isLast: false, end: () => undefined }

/** The order in which connections without a request are closed. */
const RANKS = { silent: 0, idleWithoutCredential: 1, idleWithCredential: 2, new: 3 } as const
type Rank = (typeof RANKS)[keyof typeof RANKS]

/**
 * Keeps the connections of one listener within its limits. A connection counts while a request is in progress on it. Idle ones keep
 * nobody out: when too many are open, one of the address with the most is closed, first the oldest without any request, then the
 * one idle for longest. Connections of an address beyond its limit are closed with their answer, so that no request is lost.
 */
export class Connections {
  readonly limits: ConnectionLimits
  readonly #onDrop: (reason: DropReason) => void
  readonly #endIdle: (connection: object) => void
  readonly #nowMs: () => number
  readonly #open = new Map<string, Open>()
  readonly #ofAddress = new Map<string, number>()
  /** Connections with a request in progress: of each peer, and in all. */
  readonly #activeOf = new Map<string, number>()
  #active = 0
  #closing = 0
  /** Connections that are closing. */
  #refused = 0

  /**
   * Create it after all other connection listeners of the server: they do not see refused connections. `endIdle` closes a connection
   * cleanly, given the socket or session of its last request.
   */
  constructor(
    server: Server,
    limits: ConnectionLimits,
    onDrop: (reason: DropReason) => void = () => undefined,
    endIdle: (connection: object) => void = endSocket,
    nowMs: () => number = () => performance.now(),
  ) {
    this.limits = limits
    this.#onDrop = onDrop
    this.#endIdle = endIdle
    this.#nowMs = nowMs
    // A connection that makes room for a newcomer counts until it is closed.
    server.maxConnections = openAtMost(limits.max) + MAX_CLOSING + MAX_REFUSED
    server.on('drop', () => onDrop('limit'))
    const takers = server.listeners('connection') as ((socket: Socket) => void)[]
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      if (this.#admits(socket)) for (const take of takers) take.call(server, socket)
    })
  }

  get size(): number {
    return this.#open.size - this.#closing
  }

  *sockets(): Iterable<Socket> {
    for (const { socket } of this.#open.values()) yield socket
  }

  /** The connection has shown a valid credential. */
  known(endpoints: Endpoints): void {
    const open = this.#open.get(connectionKey(endpoints))
    if (open === undefined) return
    open.hasShownCredential = true
    if (!open.isRefused) clearTimeout(open.timer)
  }

  /** A whole request has arrived on a connection; `peer` is the client behind a proxy. */
  begin(endpoints: Endpoints, peer?: string): RequestAdmission {
    const open = this.#open.get(connectionKey(endpoints))
    if (open === undefined) return UNCOUNTED
    open.lastRequestOn = endpoints
    if (open.requests === 0) {
      const { max, maxPerAddress = max } = this.limits
      const who = peer ?? open.address
      const isOfMany = open.isRefused || (this.#activeOf.get(who) ?? 0) >= maxPerAddress
      if (isOfMany || this.#active >= max) {
        const reason = isOfMany ? 'address' : 'limit'
        open.sinceMs = this.#nowMs()
        this.#onDrop(reason)
        return { kind: 'refused', reason }
      }
      open.peer = who
      this.#countActive(who, 1)
    }
    open.requests++
    return { kind: 'begun', isLast: this.#isCrowded(open), end: () => this.#end(open) }
  }

  #end(open: Open): void {
    if (open.requests === 0) return
    open.requests--
    if (open.requests > 0) return
    this.#countActive(open.peer, -1)
    open.sinceMs = this.#nowMs()
    if (open.isClosing) this.#endIdle(open.lastRequestOn ?? open.socket)
  }

  /** Whether the connection should end with the answer. */
  #isCrowded({ address, peer, isClosing }: Open): boolean {
    const { max, maxPerAddress = max } = this.limits
    if (isClosing || this.size > max) return true
    return peer === address && (this.#ofAddress.get(address) ?? 0) > maxPerAddress
  }

  #admits(socket: Socket): boolean {
    const address = peerOf(socket.remoteAddress)
    const isRefused = this.size >= openAtMost(this.limits.max) && !this.#makeRoom(address)
    if (isRefused) this.#onDrop('limit')
    if (isRefused && this.#refused >= MAX_REFUSED) {
      socket.destroy()
      return false
    }
    const key = connectionKey(socket)
    const open: Open = {
      ...{ socket, address, key, peer: address },
      ...{ requests: 0, lastRequestOn: undefined, hasShownCredential: false, isRefused },
      isClosing: isRefused,
      sinceMs: this.#nowMs(),
    }
    this.#open.set(key, open)
    socket.once('close', () => this.#forget(open))
    if (isRefused) {
      this.#closing++
      this.#refused++
      open.timer = setTimeout(() => socket.destroy(), REFUSED_FOR_MS)
      return true
    }
    addTo(this.#ofAddress, address, 1)
    const { credentialWithinMs } = this.limits
    if (credentialWithinMs !== undefined)
      open.timer = setTimeout(() => {
        socket.destroy()
        this.#onDrop('stranger')
      }, credentialWithinMs)
    return true
  }

  #forget(open: Open): void {
    clearTimeout(open.timer)
    const { key, address, requests, peer } = open
    if (requests > 0) this.#countActive(peer, -1)
    open.requests = 0
    if (this.#open.get(key) !== open) return
    this.#open.delete(key)
    if (open.isRefused) this.#refused--
    if (open.isClosing) this.#closing--
    else addTo(this.#ofAddress, address, -1)
  }

  #countActive(peer: string, by: number): void {
    this.#active += by
    addTo(this.#activeOf, peer, by)
  }

  /** Closes a connection for a newcomer of this address; false if none may be closed. */
  #makeRoom(address: string): boolean {
    const closed = this.#idleToClose(address) ?? this.#activeToClose(address)
    if (closed === undefined) return false
    this.#onDrop('limit')
    if (closed.requests === 0 && closed.lastRequestOn !== undefined) this.#closeIdle(closed)
    else {
      this.#forget(closed)
      closed.socket.destroy()
    }
    return true
  }

  /** An idle connection of the address with the most, unless the newcomer's address would then have more. */
  #idleToClose(address: string): Open | undefined {
    const own = (this.#ofAddress.get(address) ?? 0) + 1
    const silentSinceMs = this.#nowMs() - SILENT_MS
    let found: Open | undefined
    let [most, first]: [number, Rank] = [own, RANKS.new]
    for (const open of this.#open.values()) {
      if (open.requests > 0 || open.isClosing) continue
      const count = open.address === address ? own : (this.#ofAddress.get(open.address) ?? 0)
      const rank = rankOf(open, silentSinceMs)
      const isBetter =
        count > most ||
        (count === most && (rank < first || (rank === first && open.sinceMs < (found?.sinceMs ?? Infinity))))
      if (!isBetter) continue
      ;[found, most, first] = [open, count, rank]
    }
    return found
  }

  /** A connection with a request in progress. */
  #activeToClose(address: string): Open | undefined {
    if (this.limits.makesRoom !== true) return undefined
    let [found, most]: [Open | undefined, number] = [undefined, (this.#ofAddress.get(address) ?? 0) + 1]
    for (const open of this.#open.values()) {
      const count = this.#ofAddress.get(open.address) ?? 0
      if (!open.isClosing && count > most) [found, most] = [open, count]
    }
    return found
  }

  /** Closes an idle connection after reading what has arrived: such a request is still answered. */
  #closeIdle(open: Open): void {
    open.isClosing = true
    this.#closing++
    addTo(this.#ofAddress, open.address, -1)
    setImmediate(() =>
      setImmediate(() => {
        if (open.requests === 0) this.#endIdle(open.lastRequestOn ?? open.socket)
      }),
    )
  }
}

function rankOf({ lastRequestOn, sinceMs, hasShownCredential }: Open, silentSinceMs: number): Rank {
  if (lastRequestOn !== undefined)
    return hasShownCredential ? RANKS.idleWithCredential : RANKS.idleWithoutCredential
  return sinceMs <= silentSinceMs ? RANKS.silent : RANKS.new
}

function endSocket(connection: object): void {
  const socket = connection as Socket
  socket.destroySoon()
}

function addTo(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by
  if (count === 0) counts.delete(key)
  else counts.set(key, count)
}

/** The same below and above TLS. A client may use one port for several addresses of a listener. */
export function connectionKey({ remoteAddress = '', remotePort = 0, localAddress = '' }: Endpoints): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`
}

const PREFIX_GROUPS = 4
const GROUPS = 8
const MAPPED = /^(?:::ffff:)(\d+\.\d+\.\d+\.\d+)$/i

/**
 * What counts as one peer: an IPv4 address, or the first 64 bits of an IPv6 one, since one host commonly has all addresses with this
 * prefix (RFC 6177).
 */
export function peerOf(address: string | undefined): string {
  if (address === undefined) return ''
  const mapped = MAPPED.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [before = '', after] = address.replace(/%.*$/, '').split('::', 2)
  const head = groupsOf(before)
  const tail = groupsOf(after ?? '')
  const zeros =
    after === undefined ? [] : Array<string>(Math.max(0, GROUPS - head.length - tail.length)).fill('0')
  return `${[...head, ...zeros, ...tail].slice(0, PREFIX_GROUPS).join(':')}::/64`
}

const groupsOf = (text: string): string[] => text.split(':').filter((group) => group !== '')
