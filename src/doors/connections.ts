import type { Server, Socket } from 'node:net'
import { peerOf } from './peer.ts'

/** How many connections a listener has at a time, and what they have to show. */
export interface ConnectionLimits {
  /** Further ones are closed at once. */
  max: number
  /** Of one peer; as many as there may be unless given. */
  maxPerAddress?: number
  /**
   * Whether somebody new finds a place when there is none: of the address that has most connections, and at least two more than the
   * newcomer's, the one that came first goes.
   */
  makesRoom?: boolean
  /** Where credentials are asked for: those that have shown none yet, and for how many milliseconds they may go on so. */
  strangers?: { max: number; withinMs: number }
}

/** Why a connection was closed: too many in all, of its address, or of those that have shown no credential in time. */
export type DropReason = 'limit' | 'address' | 'stranger'

/** Of all connections, those that have shown no credential yet may be so many. */
const STRANGERS_SHARE = 0.25

/** The share of those that have shown no credential yet, where one is asked for. */
export function unauthenticatedLimits(max: number, withinMs: number): { max: number; withinMs: number } {
  return { max: Math.max(1, Math.floor(max * STRANGERS_SHARE)), withinMs }
}

/** Connections beyond the limit that may be on their way out, to make room for others. */
const BEING_CLOSED = 64

/** By what a connection is known on both sides of its encryption: of all that are open no two are alike in this. */
export interface Endpoints {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  readonly localAddress?: string | undefined
}

interface Place {
  readonly socket: Socket
  readonly peer: string
  readonly key: string
  timer?: NodeJS.Timeout
}

/**
 * The connections of one listener, kept within its limits. Where a credential is asked for, a connection is a stranger until
 * it has shown one: strangers have a share of the places, and when it is full the one goes that came first of the address
 * that has most of them, so that whoever comes from elsewhere is heard however many wait.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  readonly #onDrop: (reason: DropReason) => void
  readonly #places = new Map<string, Place>()
  readonly #ofPeer = new Map<string, number>()
  readonly #strangers = new Map<string, Set<Place>>()
  #strangerCount = 0

  /** To be made once everything else listens for the server's connections: those too many are shown to nobody. */
  constructor(
    server: Server,
    limits: ConnectionLimits,
    onDrop: (reason: DropReason) => void = () => undefined,
  ) {
    this.#limits = limits
    this.#onDrop = onDrop
    // One that goes for a newcomer counts until it is closed.
    server.maxConnections = limits.makesRoom === true ? limits.max + BEING_CLOSED : limits.max
    server.on('drop', () => onDrop('limit'))
    const takers = server.listeners('connection') as ((socket: Socket) => void)[]
    server.removeAllListeners('connection')
    server.on('connection', (socket: Socket) => {
      if (this.#admits(socket)) for (const take of takers) take.call(server, socket)
    })
  }

  get size(): number {
    return this.#places.size
  }

  *sockets(): Iterable<Socket> {
    for (const { socket } of this.#places.values()) yield socket
  }

  /** The connection has shown a credential that is known. */
  known(endpoints: Endpoints): void {
    if (this.#strangerCount === 0) return
    const place = this.#places.get(keyOf(endpoints))
    if (place !== undefined) this.#forgetStranger(place)
  }

  #admits(socket: Socket): boolean {
    const peer = peerOf(socket.remoteAddress)
    const count = this.#ofPeer.get(peer) ?? 0
    if (count >= (this.#limits.maxPerAddress ?? Infinity)) {
      socket.destroy()
      this.#onDrop('address')
      return false
    }
    if (this.#places.size >= this.#limits.max && !this.#makeRoom(count)) {
      socket.destroy()
      this.#onDrop('limit')
      return false
    }
    const key = keyOf(socket)
    const place: Place = { socket, peer, key }
    this.#places.set(key, place)
    this.#ofPeer.set(peer, count + 1)
    socket.once('close', () => this.#leave(place))
    this.#beginAsStranger(place)
    return true
  }

  #leave(place: Place): void {
    this.#forgetStranger(place)
    const { key, peer } = place
    if (this.#places.get(key) !== place) return
    this.#places.delete(key)
    const left = (this.#ofPeer.get(peer) ?? 1) - 1
    if (left === 0) this.#ofPeer.delete(peer)
    else this.#ofPeer.set(peer, left)
  }

  /** For a newcomer whose address has `count` places. */
  #makeRoom(count: number): boolean {
    let [most, ofMost] = ['', count + 1]
    for (const [peer, places] of this.#ofPeer) if (places > ofMost) [most, ofMost] = [peer, places]
    if (this.#limits.makesRoom !== true || most === '') return false
    for (const place of this.#places.values())
      if (place.peer === most) {
        this.#leave(place)
        place.socket.destroy()
        this.#onDrop('limit')
        return true
      }
    return false
  }

  #beginAsStranger(place: Place): void {
    const { strangers } = this.#limits
    if (strangers === undefined) return
    if (this.#strangerCount >= strangers.max) this.#drop(this.#longestOfMost())
    const ofPeer = this.#strangers.get(place.peer)
    if (ofPeer === undefined) this.#strangers.set(place.peer, new Set([place]))
    else ofPeer.add(place)
    this.#strangerCount++
    place.timer = setTimeout(() => this.#drop(place), strangers.withinMs)
  }

  #longestOfMost(): Place | undefined {
    let most: Set<Place> | undefined
    for (const places of this.#strangers.values()) if (places.size > (most?.size ?? 0)) most = places
    return most?.values().next().value
  }

  #drop(place: Place | undefined): void {
    if (place === undefined) return
    this.#forgetStranger(place)
    place.socket.destroy()
    this.#onDrop('stranger')
  }

  #forgetStranger(place: Place): void {
    clearTimeout(place.timer)
    const ofPeer = this.#strangers.get(place.peer)
    if (ofPeer?.delete(place) !== true) return
    this.#strangerCount--
    if (ofPeer.size === 0) this.#strangers.delete(place.peer)
  }
}

function keyOf({ remoteAddress = '', remotePort = 0, localAddress = '' }: Endpoints): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`
}
