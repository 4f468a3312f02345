import { isIPv6, type Server, type Socket } from 'node:net'

/** How many connections a listener has at a time, and what they have to show. */
export interface ConnectionLimits {
  /** So many may have a request under way; some more may be open. */
  max: number
  /** So many of one address may have a request under way; `max` unless given. */
  maxPerAddress?: number
  /**
   * Whether a connection with a request under way is closed for a newcomer when no other can be: the oldest of the address that has most,
   * which has at least two more than the newcomer's.
   */
  makesRoom?: boolean
  /** Where credentials are asked for: within how many milliseconds a connection must have shown one. */
  credentialWithinMs?: number
  /** What an operator changes to have more served of one address. */
  advice?: string
}

/** Why a connection was closed or its request refused: too many in all, of its address, or no credential was shown in time. */
export type DropReason = 'limit' | 'address' | 'stranger'

/** Connections beyond the limit that may be open, at most: those that say nothing or rest, and those whose requests are refused. */
const MOST_SPARE = 64
/** Connections that may be on their way out, to make room for others. */
const BEING_CLOSED = 64
/** Newcomers for whom nobody goes that may be open, to be told so when they ask, and for how long, in milliseconds. */
const BEING_TOLD = 16
const TOLD_WITHIN_MS = 1_000
/** Whoever has asked for nothing for so long after connecting is the first to go, in milliseconds. */
const SILENT_MS = 1_000

/** How many connections a listener has open at most where so many may have a request under way. */
export function openAtMost(max: number): number {
  return max + Math.min(MOST_SPARE, max)
}

/** By what a connection is known on both sides of its encryption: of all that are open no two are alike in this. */
export interface Endpoints {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  readonly localAddress?: string | undefined
}

interface Open {
  readonly socket: Socket
  readonly address: string
  readonly key: string
  /** Who asks on it, while requests are under way. */
  peer: string
  /** Requests under way. */
  requests: number
  /** The socket of its last request, or the TLS socket or HTTP/2 session around it. */
  lastRequestOn: object | undefined
  hasShownCredential: boolean
  /** Since when it is open, or rests. */
  sinceMs: number
  isLeaving: boolean
  /** A newcomer for whom nobody went: nothing that it asks is answered. */
  readonly isTurnedAway: boolean
  timer?: NodeJS.Timeout
}

/** A request that has begun, or why it may not. */
export type RequestAdmission =
  | {
      readonly kind: 'begun'
      /** Its connection should end with its answer. */
      readonly isLast: boolean
      /** To be called once it is answered. */
      readonly end: () => void
    }
  | { readonly kind: 'refused'; readonly reason: 'limit' | 'address' }

const UNCOUNTED: RequestAdmission = { kind: 'begun', isLast: false, end: () => undefined }

/** The order in which connections without a request are closed. */
const RANKS = { silent: 0, idleWithoutCredential: 1, idleWithCredential: 2, new: 3 } as const
type Rank = (typeof RANKS)[keyof typeof RANKS]

/**
 * The connections of one listener, kept within its limits. A connection counts toward the limits while a request is under way on it.
 * The others keep nobody out: when too many are open, one goes of the address that has most, first the oldest that has asked for nothing,
 * then the one that has been idle for longest. An address with more open connections than it may use keeps no further ones alive:
 * they end with their answer, so that no request is lost on its way.
 */
export class Connections {
  readonly limits: ConnectionLimits
  readonly #onDrop: (reason: DropReason) => void
  readonly #endIdle: (connection: object) => void
  readonly #nowMs: () => number
  readonly #open = new Map<string, Open>()
  readonly #ofAddress = new Map<string, number>()
  /** Connections with a request under way: of each peer, and in all. */
  readonly #activeOf = new Map<string, number>()
  #active = 0
  #leaving = 0
  /** Of those that leave. */
  #turnedAway = 0

  /**
   * To be made once everything else listens for the server's connections: those too many are shown to nobody. `endIdle` ends a connection
   * in order, given what its last request came on.
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
    // One that goes for a newcomer counts until it is closed.
    server.maxConnections = openAtMost(limits.max) + BEING_CLOSED + BEING_TOLD
    server.on('drop', () => onDrop('limit'))
    const takers = server.listeners('connection') as ((socket: Socket) => void)[]
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      if (this.#admits(socket)) for (const take of takers) take.call(server, socket)
    })
  }

  get size(): number {
    return this.#open.size - this.#leaving
  }

  *sockets(): Iterable<Socket> {
    for (const { socket } of this.#open.values()) yield socket
  }

  /** The connection has shown a credential that is known. */
  known(endpoints: Endpoints): void {
    const open = this.#open.get(keyOf(endpoints))
    if (open === undefined) return
    open.hasShownCredential = true
    if (!open.isTurnedAway) clearTimeout(open.timer)
  }

  /** A whole request has come on a connection; `peer` is who asks, where a proxy asks for others. */
  begin(endpoints: Endpoints, peer?: string): RequestAdmission {
    const open = this.#open.get(keyOf(endpoints))
    if (open === undefined) return UNCOUNTED
    open.lastRequestOn = endpoints
    if (open.requests === 0) {
      const { max, maxPerAddress = max } = this.limits
      const who = peer ?? open.address
      const isOfMany = open.isTurnedAway || (this.#activeOf.get(who) ?? 0) >= maxPerAddress
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
    if (open.isLeaving) this.#endIdle(open.lastRequestOn ?? open.socket)
  }

  /** Whether nobody should come back over the connection. */
  #isCrowded({ address, peer, isLeaving }: Open): boolean {
    const { max, maxPerAddress = max } = this.limits
    if (isLeaving || this.size > max) return true
    return peer === address && (this.#ofAddress.get(address) ?? 0) > maxPerAddress
  }

  #admits(socket: Socket): boolean {
    const address = peerOf(socket.remoteAddress)
    const isTurnedAway = this.size >= openAtMost(this.limits.max) && !this.#makeRoom(address)
    if (isTurnedAway) this.#onDrop('limit')
    if (isTurnedAway && this.#turnedAway >= BEING_TOLD) {
      socket.destroy()
      return false
    }
    const key = keyOf(socket)
    const open: Open = {
      ...{ socket, address, key, peer: address },
      ...{ requests: 0, lastRequestOn: undefined, hasShownCredential: false, isTurnedAway },
      isLeaving: isTurnedAway,
      sinceMs: this.#nowMs(),
    }
    this.#open.set(key, open)
    socket.once('close', () => this.#forget(open))
    if (isTurnedAway) {
      this.#leaving++
      this.#turnedAway++
      open.timer = setTimeout(() => socket.destroy(), TOLD_WITHIN_MS)
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
    if (open.isTurnedAway) this.#turnedAway--
    if (open.isLeaving) this.#leaving--
    else addTo(this.#ofAddress, address, -1)
  }

  #countActive(peer: string, by: number): void {
    this.#active += by
    addTo(this.#activeOf, peer, by)
  }

  /** For a newcomer of this address. */
  #makeRoom(address: string): boolean {
    const goes = this.#firstToGo(address) ?? this.#firstOfMost(address)
    if (goes === undefined) return false
    this.#onDrop('limit')
    if (goes.requests === 0 && goes.lastRequestOn !== undefined) this.#takeLeave(goes)
    else {
      this.#forget(goes)
      goes.socket.destroy()
    }
    return true
  }

  /** Of those without a request: of the address that has most, and no less than the newcomer's would have then. */
  #firstToGo(address: string): Open | undefined {
    const own = (this.#ofAddress.get(address) ?? 0) + 1
    const silentSinceMs = this.#nowMs() - SILENT_MS
    let found: Open | undefined
    let [most, first]: [number, Rank] = [own, RANKS.new]
    for (const open of this.#open.values()) {
      if (open.requests > 0 || open.isLeaving) continue
      const count = open.address === address ? own : (this.#ofAddress.get(open.address) ?? 0)
      const rank = rankOf(open, silentSinceMs)
      const isSooner =
        count > most ||
        (count === most && (rank < first || (rank === first && open.sinceMs < (found?.sinceMs ?? Infinity))))
      if (!isSooner) continue
      ;[found, most, first] = [open, count, rank]
    }
    return found
  }

  /** Of those with a request. */
  #firstOfMost(address: string): Open | undefined {
    if (this.limits.makesRoom !== true) return undefined
    let [found, most]: [Open | undefined, number] = [undefined, (this.#ofAddress.get(address) ?? 0) + 1]
    for (const open of this.#open.values()) {
      const count = this.#ofAddress.get(open.address) ?? 0
      if (!open.isLeaving && count > most) [found, most] = [open, count]
    }
    return found
  }

  /** Ends an idle connection, once what came on it meanwhile has been read: a request that is there is answered still. */
  #takeLeave(open: Open): void {
    open.isLeaving = true
    this.#leaving++
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

function keyOf({ remoteAddress = '', remotePort = 0, localAddress = '' }: Endpoints): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`
}

const PREFIX_GROUPS = 4
const GROUPS = 8
const MAPPED = /^(?:::ffff:)(\d+\.\d+\.\d+\.\d+)$/i

/**
 * What counts as one peer: an IPv4 address, or the first 64 bits of an IPv6 one, since whoever has one of those commonly has
 * all that begin with them (RFC 6177).
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
