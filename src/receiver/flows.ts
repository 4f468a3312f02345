import { claimedSender } from '../model/otlp/request-envelopes.ts'
import { MIB } from '../model/time-and-size.ts'
import type { Refusal } from './answer-statuses.ts'

interface FlowSettings {
  /** How many requests of one flow may wait while others wait too. */
  maxRequests?: number
  /** How many bytes of one flow may wait while others wait too. */
  maxBytes?: number
  /** How many bytes of a flow may wait while nobody else sends, so that newcomers find room; no limit unless given. */
  maxBytesAlone?: number
  /** How long a request waits, unread, for room in its flow before it is refused, in milliseconds; two seconds unless given. */
  longestWaitMs?: number
}

const DEFAULT_MAX_REQUESTS = 64
const DEFAULT_MAX_BYTES = 8 * MIB
const LONGEST_WAIT_MS = 2_000
const RETRY_AFTER_MS = 1_000
/** A flow counts as active for this long after its last request. */
const REMEMBERED_MS = 1_000
const MAX_FLOWS = 1_024
const MAX_CREDENTIALS = 1_024
const MAX_NAME_LENGTH = 128

/**
 * Groups requests into flows, so that one sender in a loop does not crowd out the others (after Kubernetes' API Priority and
 * Fairness): by credential, then by `k8s.cluster.name` and `service.name` of the first resource. While more than one flow is
 * active, each may have a limited amount waiting; more is refused and can be sent again.
 */
export class Flows {
  readonly maxRequests: number
  readonly maxBytes: number
  /** In milliseconds. */
  readonly longestWaitMs: number
  readonly #maxBytesAlone: number
  readonly #flows = new Map<string, Flow>()
  readonly #connections = new WeakMap<object, FlowConnection>()
  readonly #numbersOfCredentials = new Map<string, number>()
  readonly #nowMs: () => number
  #lastId = 0
  #lastNumber = 0

  constructor(settings: FlowSettings = {}, nowMs: () => number = () => performance.now()) {
    this.maxRequests = settings.maxRequests ?? DEFAULT_MAX_REQUESTS
    this.maxBytes = settings.maxBytes ?? DEFAULT_MAX_BYTES
    this.#maxBytesAlone = settings.maxBytesAlone ?? Infinity
    this.longestWaitMs = settings.longestWaitMs ?? LONGEST_WAIT_MS
    this.#nowMs = nowMs
  }

  /** Recent flows, the most recent one last. */
  all(): Iterable<Flow> {
    return this.#flows.values()
  }

  /** Admits a request, or says why it must be retried. Call `leave` when an admitted one is answered. */
  enter(request: Uint8Array, credential = '', from?: FlowConnection): Flow | Refusal {
    const nowMs = this.#nowMs()
    const flow = this.#flowOf(request, credential)
    flow.lastBytes = request.length
    if (from !== undefined) noteFlow(from, flow)
    if (this.#isOver(flow, { requests: 0, bytes: request.length })) return this.#refuse(flow)
    this.#count(flow, 1, request.length)
    flow.activeMs = nowMs
    return flow
  }

  /**
   * Begins to read a request on a connection: returns the function to call when reading ends, or why the sender must retry. Each
   * request that is being read counts as large as the last one of its flow, since reading costs as much for a request that is
   * refused afterwards.
   */
  beginReading(from: FlowConnection): (() => void) | Refusal {
    const { flow } = from
    if (!(flow instanceof Flow)) return () => undefined
    if (this.isFull(flow)) return this.#refuse(flow)
    flow.reading++
    return () => {
      flow.reading--
    }
  }

  /** Whether one more request of a flow would be too much now. */
  isFull(flow: Flow): boolean {
    return this.#isOver(flow, {
      requests: flow.reading,
      bytes: Math.max(1, (flow.reading + 1) * flow.lastBytes),
    })
  }

  /** A request is answered. Requests that wait for room in its flow are admitted while there is room. */
  leave(flow: Flow, bytes: number): void {
    this.#count(flow, -1, -bytes)
    flow.activeMs = this.#nowMs()
    for (const next of flow.waiting) {
      if (this.isFull(flow)) return
      next()
    }
  }

  /** The record of a connection, made at first use. */
  connectionOf(connection: object): FlowConnection {
    let known = this.#connections.get(connection)
    if (known === undefined) this.#connections.set(connection, (known = { address: '' }))
    return known
  }

  /**
   * Identifies a sender by its credential, or else by its connection. `client` is the unit of fairness: a
   * credential on all its connections, or else an address with all its connections.
   */
  senderOf(connection: FlowConnection, credential: string | undefined): { client: string; peer: number } {
    if (credential === undefined)
      return { client: connection.address, peer: (connection.number ??= ++this.#lastNumber) }
    let number = this.#numbersOfCredentials.get(credential)
    if (number === undefined) {
      number = ++this.#lastNumber
      // After the clear, a credential gets a new number and counts as another sender for a second.
      if (this.#numbersOfCredentials.size >= MAX_CREDENTIALS) this.#numbersOfCredentials.clear()
      this.#numbersOfCredentials.set(credential, number)
    }
    return { client: `as ${credential}`, peer: number }
  }

  #flowOf(request: Uint8Array, credential: string): Flow {
    const { service, cluster } = claimedSender(request)
    const key = [credential, cluster, service].map((part) => part.slice(0, MAX_NAME_LENGTH)).join('\n')
    let flow = this.#flows.get(key)
    if (flow !== undefined) {
      // The map is in order of use: its first flow has been idle for longest.
      this.#flows.delete(key)
    } else {
      this.#makeRoom()
      // Split from the key, which is a new string: a slice of a long name would keep the whole name in memory.
      const named = key.split('\n').filter((part) => part !== '')
      const name = named.join('/') || 'unnamed'
      flow = new Flow(++this.#lastId, name, this.#credentialOf(credential))
    }
    this.#flows.set(key, flow)
    return flow
  }

  /** The credential of this name, shared by the flows that are remembered. */
  #credentialOf(name: string): Credential {
    for (const { credential } of this.#flows.values()) if (credential.name === name) return credential
    return { name, requests: 0, bytes: 0, waiting: new Set() }
  }

  #count(flow: Flow, requests: number, bytes: number): void {
    flow.requests += requests
    flow.bytes += bytes
    flow.credential.requests += requests
    flow.credential.bytes += bytes
  }

  #makeRoom(): void {
    if (this.#flows.size < MAX_FLOWS) return
    for (const [key, flow] of this.#flows) {
      if (flow.requests > 0) continue
      this.#flows.delete(key)
      return
    }
  }

  /** Whether the flow would exceed a limit. `more`: requests that are about to be added. */
  #isOver(flow: Flow, more: { requests: number; bytes: number }): boolean {
    const nowMs = this.#nowMs()
    if (this.#isOverAsWhole(flow, more, nowMs)) return true
    if (flow.requests === 0) return false
    const bytes = flow.bytes + more.bytes
    if (bytes > this.#maxBytesAlone) return true
    return (
      (flow.requests + more.requests >= this.maxRequests || bytes > this.maxBytes) &&
      this.#isShared(nowMs, (other) => other !== flow)
    )
  }

  /** A credential gets no more room by naming many services. */
  #isOverAsWhole(
    { credential }: Flow,
    { requests, bytes }: { requests: number; bytes: number },
    nowMs: number,
  ): boolean {
    if (credential.name === '' || credential.requests === 0) return false
    if (credential.requests + requests < this.maxRequests && credential.bytes + bytes <= this.maxBytes)
      return false
    return this.#isShared(nowMs, (other) => other.credential !== credential)
  }

  #isShared(nowMs: number, isOther: (flow: Flow) => boolean): boolean {
    for (const flow of this.#flows.values()) {
      if (!isOther(flow)) continue
      if (flow.requests > 0 || flow.activeMs > nowMs - REMEMBERED_MS) return true
    }
    return false
  }

  #refuse(flow: Flow): Refusal {
    const { name, credential } = flow
    const { requests, bytes } = credential.name === '' ? flow : credential
    flow.refused()
    return {
      kind: 'busy',
      cause: 'flow',
      retryAfterMs: RETRY_AFTER_MS,
      reason: `${name} has ${requests} requests of ${bytes} bytes waiting, and others need room too; send this one again later`,
    }
  }
}

/** What all flows with one credential have in flight. The name is empty for flows without a credential. */
interface Credential {
  readonly name: string
  requests: number
  bytes: number
  readonly waiting: Set<() => void>
}

/** What one flow has in flight. */
export class Flow {
  readonly id: number
  /** As shown to people: the credential, the cluster and the service, or what is known of them. */
  readonly name: string
  /** Shared by all flows of the same credential. */
  readonly credential: Credential
  requests = 0
  bytes = 0
  /** How many of its requests are being read. */
  reading = 0
  /** The size of its last request, admitted or not. */
  lastBytes = 0
  /** When it last had a request in flight, in milliseconds of `performance.now()`. */
  activeMs = -Infinity
  #refused = 0
  readonly #waiting = new Set<() => void>()

  constructor(id: number, name: string, credential: Credential) {
    this.id = id
    this.name = name
    this.credential = credential
  }

  /** Callbacks of requests that wait for room, oldest first; each removes itself when called. Shared by all flows of a credential. */
  get waiting(): Set<() => void> {
    return this.credential.name === '' ? this.#waiting : this.credential.waiting
  }

  refused(): void {
    this.#refused++
  }

  /** How many of its requests were refused since this was last asked. */
  takeRefused(): number {
    const refused = this.#refused
    this.#refused = 0
    return refused
  }
}

/** A connection that requests come on. */
interface FlowConnection {
  /** Where it comes from. */
  address: string
  /** Assigned with its first request that shows no credential. */
  number?: number
  /** Its flow, or `several`: a gateway sends for many. */
  flow?: Flow | 'several'
}

function noteFlow(connection: FlowConnection, flow: Flow): void {
  const known = connection.flow
  if (known === flow || known === 'several') return
  connection.flow = known === undefined || known.name === flow.name ? flow : 'several'
}
