import { claimedSender } from '../model/otlp/request-envelopes.ts'
import { MIB } from '../model/time-and-size.ts'
import type { Refusal } from './answer-statuses.ts'

interface FlowSettings {
  /** How many requests of one flow may wait while others wait too. */
  maxRequests?: number
  /** How many bytes of one flow may wait while others wait too. */
  maxBytes?: number
  /** How many bytes of a flow may wait while nobody else sends, so that there is room for whoever comes; no limit unless given. */
  maxBytesAlone?: number
}

const DEFAULT_MAX_REQUESTS = 64
const DEFAULT_MAX_BYTES = 8 * MIB
const RETRY_AFTER_MS = 1_000
/** For so long after its last request a flow still counts as one that others have to make room for. */
const REMEMBERED_MS = 1_000
const MAX_FLOWS = 1_024
const MAX_CREDENTIALS = 1_024
const MAX_NAME_LENGTH = 128

/**
 * Tells the senders of requests apart, so that one that loops does not crowd out the others (after Kubernetes' API
 * Priority and Fairness): by credential, then by `k8s.cluster.name` and `service.name` of the first resource. While more
 * than one is active, each may have only so much waiting; what is more is refused and can be sent again.
 */
export class Flows {
  readonly maxRequests: number
  readonly maxBytes: number
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
    this.#nowMs = nowMs
  }

  /** The flows of late, the most recent one last. */
  all(): Iterable<Flow> {
    return this.#flows.values()
  }

  /** Lets a request in, or says why it has to come again; `leave` has to follow when it is answered. */
  enter(request: Uint8Array, credential = ''): Flow | Refusal {
    const nowMs = this.#nowMs()
    const flow = this.#flowOf(request, credential)
    if (this.#isOver(flow, request.length, nowMs)) return this.#refuse(flow)
    this.#count(flow, 1, request.length)
    flow.activeMs = nowMs
    return flow
  }

  /** Why another request of a flow cannot be let in now, however small it is; undefined when it may be. */
  refusalOf(flow: Flow): Refusal | undefined {
    return this.#isOver(flow, 1, this.#nowMs()) ? this.#refuse(flow) : undefined
  }

  leave(flow: Flow, bytes: number): void {
    this.#count(flow, -1, -bytes)
    flow.activeMs = this.#nowMs()
  }

  /** What is known of a connection. */
  connectionOf(connection: object): FlowConnection {
    let known = this.#connections.get(connection)
    if (known === undefined) this.#connections.set(connection, (known = { address: '' }))
    return known
  }

  /**
   * Tells apart those who send: by credential where they have one, else by connection. `client` is who shares turns with
   * others: a credential, wherever it is used, or else an address with all its connections.
   */
  senderOf(connection: FlowConnection, credential: string | undefined): { client: string; peer: number } {
    if (credential === undefined)
      return { client: connection.address, peer: (connection.number ??= ++this.#lastNumber) }
    let number = this.#numbersOfCredentials.get(credential)
    if (number === undefined) {
      number = ++this.#lastNumber
      // Whoever is numbered anew counts as someone else for a second.
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
      // The map keeps the order of use, so that the first is the one that was idle for longest.
      this.#flows.delete(key)
    } else {
      this.#makeRoom()
      // Of the key, which is a text of its own: a slice of a long name would keep all of it.
      const named = key.split('\n').filter((part) => part !== '')
      const name = named.join('/') || 'unnamed'
      flow = new Flow(++this.#lastId, name, this.#credentialOf(credential))
    }
    this.#flows.set(key, flow)
    return flow
  }

  /** Shared by the flows that are remembered. */
  #credentialOf(name: string): Credential {
    for (const { credential } of this.#flows.values()) if (credential.name === name) return credential
    return { name, requests: 0, bytes: 0 }
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

  #isOver(flow: Flow, more: number, nowMs: number): boolean {
    if (this.#isOverAsWhole(flow, more, nowMs)) return true
    if (flow.requests === 0) return false
    const bytes = flow.bytes + more
    if (bytes > this.#maxBytesAlone) return true
    return (
      (flow.requests >= this.maxRequests || bytes > this.maxBytes) &&
      this.#isShared(nowMs, (other) => other !== flow)
    )
  }

  /** Services that a credential names are its own business: beside others it has no more room for having many. */
  #isOverAsWhole({ credential }: Flow, more: number, nowMs: number): boolean {
    if (credential.name === '' || credential.requests === 0) return false
    if (credential.requests < this.maxRequests && credential.bytes + more <= this.maxBytes) return false
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

/** What all senders with one credential have under way; without a name those that show none. */
interface Credential {
  readonly name: string
  requests: number
  bytes: number
}

/** What one sender has under way. */
export class Flow {
  readonly id: number
  /** As shown to people: the credential, the cluster and the service, or what is known of them. */
  readonly name: string
  /** What its sender proved of itself; shared by all flows of that sender. */
  readonly credential: Credential
  requests = 0
  bytes = 0
  /** When it last had something under way, in milliseconds of `performance.now()`. */
  activeMs = -Infinity
  #refused = 0

  constructor(id: number, name: string, credential: Credential = { name: '', requests: 0, bytes: 0 }) {
    this.id = id
    this.name = name
    this.credential = credential
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
  /** Given to it with its first request that shows no credential. */
  number?: number
  /** Which flow it carries, as long as it has carried no other: a gateway sends for many. */
  flow?: Flow | 'several'
}

export function noteFlow(connection: FlowConnection, flow: Flow): void {
  const known = connection.flow
  if (known === flow || known === 'several') return
  connection.flow = known === undefined || known.name === flow.name ? flow : 'several'
}
