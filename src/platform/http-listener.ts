import { lookup } from 'node:dns/promises'
import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from 'node:http'
import { Server as HttpsServer } from 'node:https'
import { type AddressInfo, isIP, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { MIB } from '../model/time-and-size.ts'
import {
  type ConnectionLimits,
  Connections,
  type DropReason,
  type Endpoints,
  peerOf,
  type RequestAdmission,
} from './connections.ts'
import { answerInTurn } from './pipelined-requests.ts'
import { readBeginning } from './trusted-proxies.ts'

export interface ListenAddress {
  /** An address or a name; empty means every address of the machine. */
  host: string
  /** 0 takes any free port. */
  port: number
}

/** A server that is listening; closing it ends its open connections. */
export interface Listening extends AsyncDisposable {
  /** The port it got. */
  readonly port: number
  /** How many connections are open now. */
  readonly connections: number
  /** The connection has shown a valid credential. */
  known(connection: Endpoints): void
  /** A request has begun that the HTTP server does not see, such as one over HTTP/2; `peer` is the client. */
  begin(connection: Endpoints, peer: string): RequestAdmission
  /** An answer that the HTTP server does not see. `isWaiting`: whether the client has to read before more is sent. */
  hold(connection: Socket, peer: string, isWaiting: () => boolean): HeldAnswer
  /** The error for a request beyond the limit. */
  refusalText(reason: 'limit' | 'address'): string
}

/** The memory of an answer. */
export interface HeldAnswer {
  /** As `chargeAnswer`. */
  charge(bytes: number): boolean
  forget(): void
}

/** Timeouts of servers for people and probes: silent and slow clients are disconnected. */
export const HTTP_SERVER_TIMEOUTS: ServerOptions = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
}

/** The limits of a server without configured ones. */
const DEFAULT_LIMITS: ConnectionLimits = { max: 64, maxPerAddress: 32 }

export interface ListenPurpose {
  /** What the server is, for error messages. */
  readonly what: string
  /** The setting an operator changes to have it listen elsewhere. */
  readonly setting: string
}

/** Limits and callbacks of a listener. */
export interface ListenerOptions extends RequestCounting {
  /** 64 connections with a request in flight, 32 of them from one address, unless given. */
  connections?: ConnectionLimits | undefined
  /** Called once it listens, with a function that returns the number of open connections. */
  onOpen?: ((connections: () => number) => void) | undefined
  /** Called for each connection that is closed and each request that is refused because there are too many. */
  onDrop?: ((reason: DropReason) => void) | undefined
  /** Limits of answers that are not read. */
  unread?: UnreadSettings | undefined
}

/** Starts listening. Rejects with an error that says what cannot listen where, why, and what to change. */
export async function listen(
  server: Server,
  at: ListenAddress,
  purpose: ListenPurpose & ListenerOptions,
): Promise<Listening> {
  // Clients of these servers repeat a request whose connection was closed.
  const limits = { ...(purpose.connections ?? DEFAULT_LIMITS), makesRoom: true }
  const connections = new Connections(server, limits, purpose.onDrop)
  countRequests(server, connections, purpose)
  const ofUnread = { ...purpose.unread, peerOf: purpose.peerOf }
  new UnreadAnswers(ofUnread).watch(server)
  // These have a room of their own, so that they end no answer of the HTTP server.
  const besides = new UnreadAnswers(ofUnread)
  server.once('close', () => besides[Symbol.dispose]())
  try {
    const host = await bindAddress(at.host)
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    server.once('error', reject)
    server.listen({ port: at.port, ...(host !== undefined && { host }) }, () => resolve(undefined))
    await promise
    server.off('error', reject)
    // A connection that could not be accepted must not end the process.
    server.on('error', () => undefined)
  } catch (cause) {
    throw new Error(
      `${purpose.what} cannot listen on ${at.host}:${at.port}: ${why(cause)}; change ${purpose.setting}`,
      {
        cause,
      },
    )
  }
  purpose.onOpen?.(() => connections.size)
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections.size
    },
    known: (connection) => connections.known(connection),
    begin: (connection, peer) => connections.begin(connection, peer),
    hold: (connection, peer, isWaiting) => besides.hold(connection, peer, isWaiting),
    refusalText: (reason) => refusalText(reason, limits),
    [Symbol.asyncDispose]: () => close(server, connections),
  }
}

/** A name binds its IPv4 address when it has one, as in the Collector: localhost is then 127.0.0.1 everywhere. */
async function bindAddress(host: string): Promise<string | undefined> {
  if (host === '') return undefined
  return isIP(host) ? host : (await lookup(host, { order: 'ipv4first' })).address
}

function why(cause: unknown): string {
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
  if (code === 'EADDRINUSE')
    return 'another program uses the port, perhaps a Causeway that already runs (causeway doctor says)'
  if (code === 'EACCES') return 'the port needs more rights'
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') return 'this machine has no such address'
  return cause instanceof Error ? cause.message : String(cause)
}

function close(server: Server, connections: Connections): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  // A server that is closed already calls back with an error, which is ignored.
  server.close(() => resolve(undefined))
  // Node's server does not know connections that have not begun HTTP.
  for (const socket of connections.sockets()) socket.destroy()
  return promise
}

interface RequestCounting {
  /** The client behind a proxy. */
  peerOf?: ((request: IncomingMessage) => string) | undefined
  /** Answers a request that is refused for now; the Retry-After header is already set. */
  refuse?: ((request: IncomingMessage, response: ServerResponse, reason: string) => void) | undefined
}

const RETRY_AFTER_S = '1'

/**
 * Counts the requests of a server's connections while they are answered, and refuses those beyond the limits. Call it after all other
 * request listeners: they do not see refused requests.
 */
export function countRequests(
  server: Server,
  connections: Connections,
  { peerOf, refuse = refuseAsText }: RequestCounting = {},
): void {
  const takers = server.listeners('request') as RequestListener[]
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const begun = connections.begin(request.socket, peerOf?.(request))
    if (begun.kind === 'refused') {
      response.setHeader('Retry-After', RETRY_AFTER_S)
      refuse(request, response, refusalText(begun.reason, connections.limits))
      return
    }
    response.once('close', begun.end)
    if (begun.isLast) closeAfter(request, response)
    for (const take of takers) take.call(server, request, response)
  })
}

/** The error for a request beyond the limit. */
export function refusalText(
  reason: 'limit' | 'address',
  { max, maxPerAddress = max, advice }: ConnectionLimits,
): string {
  const what =
    reason === 'address'
      ? `${maxPerAddress} connections of your address have a request under way, which is as many as one address may have`
      : `${max} connections have a request under way, which is as many as there may be`
  const raise = advice === undefined ? '' : `; ${advice}`
  return `${what}; send this again later, or over fewer connections${raise}`
}

/** Closes the connection after the answer. The body is read first: body bytes that arrive after the close would reset the answer. */
function closeAfter(request: IncomingMessage, response: ServerResponse): void {
  const close = (): void => {
    if (!response.headersSent) response.setHeader('Connection', 'close')
  }
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
  if (hasBody) request.once('end', close)
  else close()
}

function refuseAsText(_: IncomingMessage, response: ServerResponse, reason: string): void {
  response.writeHead(503, { 'content-type': 'text/plain; charset=utf-8' }).end(`${reason}\n`)
}

export interface UnreadSettings {
  /** How many requests of one connection are answered at the same time; 1 unless given. */
  atOnce?: number | undefined
  /** How long an answer may wait for a slow reader, in milliseconds; 30 s by default, 0 is forever. */
  writeTimeoutMs?: number | undefined
  /** The most memory of all unread answers; 32 MiB by default. */
  maxBytes?: number | undefined
  /** Called for every answer that was ended because it was not read. */
  onEnded?: (() => void) | undefined
  /** A monotonic clock; the process's by default. */
  nowMs?: (() => number) | undefined
  /** The client; the address of the connection by default. */
  peerOf?: ((request: IncomingMessage) => string) | undefined
}

const DEFAULT_WRITE_TIMEOUT_MS = 30_000
const DEFAULT_MAX_BYTES = 32 * MIB
const LOOK_MS = 1_000

interface Answer {
  readonly socket: Socket
  readonly peer: string
  readonly isWaiting: () => boolean
  /** The most memory that it may hold, in bytes. */
  charged: number
  /** How much was read at the last check, and since when that has not grown. */
  taken: number
  sinceMs: number
}

interface WatchedAnswer extends HeldAnswer {
  end(): void
}

const answers = new WeakMap<ServerResponse, WatchedAnswer>()

/**
 * Announces how much memory an answer may hold until it is read. False when unread answers hold too much already: then the caller
 * has to try again later.
 */
export function chargeAnswer(response: ServerResponse, bytes: number): boolean {
  return answers.get(response)?.charge(bytes) ?? true
}

/** Ends an answer that is not read. */
export function endUnread(response: ServerResponse): void {
  answers.get(response)?.end()
}

/**
 * Ends answers that are not read: after a while without progress, and at once when others need the memory, first the one without
 * progress for longest. Disposing stops it.
 */
export class UnreadAnswers implements Disposable {
  readonly #writeTimeoutMs: number
  readonly #maxBytes: number
  readonly #onEnded: () => void
  readonly #nowMs: () => number
  readonly #peerOf: (request: IncomingMessage) => string
  readonly #atOnce: number
  readonly #open = new Set<Answer>()
  readonly #timer: NodeJS.Timeout
  #charged = 0

  constructor(settings: UnreadSettings = {}) {
    this.#writeTimeoutMs = settings.writeTimeoutMs ?? DEFAULT_WRITE_TIMEOUT_MS
    this.#maxBytes = settings.maxBytes ?? DEFAULT_MAX_BYTES
    this.#onEnded = settings.onEnded ?? (() => undefined)
    this.#nowMs = settings.nowMs ?? (() => performance.now())
    this.#peerOf = settings.peerOf ?? ((request) => peerOf(request.socket.remoteAddress))
    this.#atOnce = settings.atOnce ?? 1
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref()
  }

  /**
   * Watches the answers of a server while it listens, and limits how many of one connection are in progress. Call it after all other
   * request listeners.
   */
  watch(server: Server): void {
    const takers = server.listeners('request') as RequestListener[]
    server.removeAllListeners('request')
    server.on('request', (request, response) => {
      this.#begin(response)
      for (const take of takers) take.call(server, request, response)
    })
    answerInTurn(server, { atOnce: this.#atOnce, onClosed: (response) => answers.get(response)?.forget() })
    server.once('close', () => this[Symbol.dispose]())
  }

  /** Checks all answers, and ends those that have waited too long. */
  look(): void {
    const untilMs = this.#nowMs() - this.#writeTimeoutMs
    for (const answer of this.#open) {
      this.#note(answer)
      if (this.#writeTimeoutMs > 0 && answer.sinceMs <= untilMs) this.#end(answer)
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  /** An answer of another server on the same port. */
  hold(socket: Socket, peer: string, isWaiting: () => boolean): WatchedAnswer {
    const answer: Answer = {
      ...{ socket, peer, isWaiting },
      charged: 0,
      taken: takenOver(socket),
      sinceMs: this.#nowMs(),
    }
    this.#open.add(answer)
    return {
      charge: (bytes) => this.#charge(answer, bytes),
      end: () => this.#end(answer),
      forget: () => this.#forget(answer),
    }
  }

  #begin(response: ServerResponse): void {
    const { socket } = response.req
    const isWaiting = (): boolean => response.headersSent && response.writableLength > 0
    answers.set(response, this.hold(socket, this.#peerOf(response.req), isWaiting))
  }

  #charge(answer: Answer, bytes: number): boolean {
    if (!this.#open.has(answer)) return false
    while (this.#charged + bytes > this.#maxBytes) {
      const stalled = this.#mostStalled(answer) ?? this.#oldestOfGreediest(answer, bytes)
      if (stalled === undefined) return false
      this.#end(stalled)
    }
    answer.charged += bytes
    this.#charged += bytes
    return true
  }

  /** The answer that holds memory and has made no progress for longest, if long enough. */
  #mostStalled(besides: Answer): Answer | undefined {
    let found: Answer | undefined
    for (const answer of this.#open) {
      if (answer === besides || answer.charged === 0) continue
      this.#note(answer)
      if (found === undefined || answer.sinceMs < found.sinceMs) found = answer
    }
    return found !== undefined && found.sinceMs <= this.#nowMs() - LOOK_MS ? found : undefined
  }

  /** The oldest answer of the address whose answers hold the most, if that is more than the caller's would hold. */
  #oldestOfGreediest(asking: Answer, bytes: number): Answer | undefined {
    const held = new Map<string, { bytes: number; first: Answer }>()
    for (const answer of this.#open) {
      if (answer === asking || answer.charged === 0) continue
      const of = held.get(answer.peer)
      if (of === undefined) held.set(answer.peer, { bytes: answer.charged, first: answer })
      else of.bytes += answer.charged
    }
    const own = (held.get(asking.peer)?.bytes ?? 0) + asking.charged + bytes
    held.delete(asking.peer)
    const [most] = [...held.values()].sort((one, other) => other.bytes - one.bytes)
    return most !== undefined && most.bytes > own ? most.first : undefined
  }

  /** Whether some of the answer was read, or nothing of it is unread. */
  #note(answer: Answer): void {
    const taken = takenOver(answer.socket)
    if (taken === answer.taken && answer.isWaiting()) return
    answer.taken = taken
    answer.sinceMs = this.#nowMs()
  }

  #end(answer: Answer): void {
    this.#forget(answer)
    answer.socket.destroy()
    this.#onEnded()
  }

  #forget(answer: Answer): void {
    if (!this.#open.delete(answer)) return
    this.#charged -= answer.charged
    answer.charged = 0
  }
}

/** Internals of a socket, which Node uses for its own timeouts: unsent bytes of the current write. */
interface WithHandle {
  readonly _handle?: { readonly writeQueueSize?: number } | null
}

/** Changes whenever the system takes more bytes, even of one long write. */
function takenOver(socket: Socket): number {
  const { _handle: handle }: WithHandle = socket as unknown as WithHandle
  return socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0)
}

/** The beginning of the HTTP/2 preface (RFC 9113, section 3.4); no method of HTTP/1.1 begins so. */
const PREFACE = Buffer.from('PRI')

/** Browsers offer both and get HTTP/1.1; gRPC clients offer HTTP/2 alone. */
export const ALPN_OF_BOTH = {
  ALPNCallback: ({ protocols }: { protocols: string[] }): string | undefined =>
    ['http/1.1', 'h2'].find((known) => protocols.includes(known)),
}

/**
 * Passes HTTP/2 connections to `take` instead of the server. Call it before anything else wraps the server's connection
 * listeners.
 */
export function divertHttp2(server: Server | HttpsServer, take: (socket: Socket) => void): void {
  const event = server instanceof HttpsServer ? 'secureConnection' : 'connection'
  const takers = server.listeners(event) as ((socket: Socket) => void)[]
  server.removeAllListeners(event)
  const pass = (socket: Socket): void => {
    for (const taker of takers) taker.call(server, socket)
  }
  if (event === 'connection') server.on(event, (socket: Socket) => divertPlain(socket, take, pass))
  else server.on(event, (socket: TLSSocket) => (socket.alpnProtocol === 'h2' ? take(socket) : pass(socket)))
}

function divertPlain(socket: Socket, take: (socket: Socket) => void, pass: (socket: Socket) => void): void {
  readBeginning(socket, HTTP_SERVER_TIMEOUTS.headersTimeout, (bytes) => {
    const begun = bytes.subarray(0, PREFACE.length)
    const mayBe = PREFACE.subarray(0, begun.length).equals(begun)
    if (mayBe && begun.length < PREFACE.length) return undefined
    return () => {
      socket.unshift(bytes)
      ;(mayBe ? take : pass)(socket)
    }
  })
}
