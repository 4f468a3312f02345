import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { ownValue } from '../model/untrusted-names.ts'
import type { Sender } from '../model/otlp-requests.ts'
import { isDnsRebinding } from '../platform/browser-origins.ts'
import { Connections, type DropReason, peerOf } from '../platform/connections.ts'
import type { Authenticator } from '../platform/credentials.ts'
import { countRequests, type ListenPurpose, UnreadAnswers } from '../platform/http-listener.ts'
import { readInPieces } from '../platform/pipelined-requests.ts'
import { certificateNames, followCertificates, openServerTls } from '../platform/tls.ts'
import { ANSWER_STATUSES } from './answer-statuses.ts'
import { reportFailedHandshakes } from './failed-handshakes.ts'
import { PendingBodies, SlowBodyWatch } from './request-body.ts'
import {
  connectionLimitsOf,
  DEFAULT_REQUEST_TIMEOUT_MS,
  FIRST_BYTES_MS,
  listen,
  type ListenerSettings,
  type RunningListener,
} from './listener.ts'

export interface HttpSettings extends ListenerSettings {
  /** Within how many milliseconds a sender must have sent the headers; 10 s unless given, 0 for no limit. */
  headersTimeoutMs?: number
  /** How long a connection may be idle between requests, in milliseconds; 75 s unless given, 0 for no limit. */
  idleTimeoutMs?: number
  /** How long an answer may wait to be read, in milliseconds; 30 s unless given, 0 for no limit. */
  writeTimeoutMs?: number
  /** A body must deliver a kilobyte within this many milliseconds; 10 s unless given. */
  bodyPaceMs?: number
}

/** What limits the requests of a server while they arrive. */
export interface HttpGuards {
  readonly awaited: PendingBodies
  readonly pace: SlowBodyWatch
  /** To be called for every connection that has shown a valid credential. */
  readonly onKnown: (connection: Socket) => void
}

/** Answers a server's requests and refusals. */
interface HttpService {
  /** Answers a request. The connection is closed if this rejects. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Answers all requests in flight at once, when the grace period ends. */
  giveUp(): void
  dropped(reason: DropReason): void
  /** Answers a request over the connection limit; as text unless given. */
  refuse?(request: IncomingMessage, response: ServerResponse, reason: string): void
  unread(): void
}

/** Longer than the interval at which exporters commonly send. */
const DEFAULT_IDLE_MS = 75_000
const MAX_HEADER_BYTES = 16 * 1024
/** How many bytes of a body are buffered for a paused connection; each byte may be a chunk, which is an object. */
const READ_AHEAD_BYTES = 4096
/** How many pipelined requests of one connection are processed at once. */
const MOST_AT_ONCE = 16

/**
 * Serves HTTP or HTTPS within the limits of all receivers: on connections, on time, and on answers that nobody reads.
 * Rejects with an error that says what to do when it cannot listen.
 */
export async function serveHttp(
  settings: HttpSettings,
  purpose: ListenPurpose,
  serviceOf: (guards: HttpGuards) => HttpService,
): Promise<RunningListener> {
  const server = serverOf(settings)
  const awaited = new PendingBodies()
  const pace = new SlowBodyWatch(settings.bodyPaceMs)
  server.once('close', () => pace[Symbol.dispose]())
  const service = serviceOf({ awaited, pace, onKnown: (socket) => connections.known(socket) })
  const connections = new Connections(server, connectionLimitsOf(settings), (reason) =>
    service.dropped(reason),
  )
  if (settings.authenticator === undefined)
    server.on('secureConnection', (socket: TLSSocket) => connections.known(socket))
  const open = new Set<ServerResponse>()
  const closeIdle = (): void => {
    if (!server.listening) server.closeIdleConnections()
  }
  closeFaultyConnections(server, awaited, open)
  server.on('request', (request, response) => {
    if (!server.listening) response.setHeader('Connection', 'close')
    open.add(response)
    response.once('close', () => {
      open.delete(response)
      closeIdle()
    })
    // The rest of a body may come after its answer.
    request.once('close', closeIdle)
    service.answer(request, response).catch(() => response.destroy())
  })
  countRequests(server, connections, {
    refuse: service.refuse && ((...refused) => service.refuse?.(...refused)),
  })
  const onEnded = (): void => service.unread()
  new UnreadAnswers({ writeTimeoutMs: settings.writeTimeoutMs, onEnded, atOnce: MOST_AT_ONCE }).watch(server)
  return listen(server, settings, purpose, connections, {
    drain: () => {
      for (const response of open) if (!response.headersSent) response.setHeader('Connection', 'close')
    },
    giveUp: () => service.giveUp(),
  })
}

function serverOf(settings: HttpSettings): Server {
  const requestTimeout = settings.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS
  const headersTimeout = settings.headersTimeoutMs ?? FIRST_BYTES_MS
  const options = {
    headersTimeout: requestTimeout === 0 ? headersTimeout : Math.min(headersTimeout, requestTimeout),
    requestTimeout,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: settings.idleTimeoutMs ?? DEFAULT_IDLE_MS,
    keepAlive: true,
    maxHeaderSize: MAX_HEADER_BYTES,
    highWaterMark: READ_AHEAD_BYTES,
  }
  if (settings.tls === undefined) return readInPieces(createServer(options))
  const secured = openServerTls(`receiver ${settings.receiver}`, settings.tls, settings.onTrouble)
  const server = readInPieces(createTlsServer({ ...options, ...secured.current }))
  followCertificates(server, secured)
  reportFailedHandshakes(server, settings)
  return server
}

/** How long the answer to a request that was too slow may take to be sent, in milliseconds. */
const LAST_ANSWER_MS = 5_000

/** The fault for an error code of Node's parser; every other code is `malformed`. */
const FAULTS: Readonly<Record<string, keyof typeof ANSWER_STATUSES>> = {
  HPE_HEADER_OVERFLOW: 'headersTooLarge',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'tooLarge',
}

/**
 * Closes faulty connections. Node answers a request that takes too long with 408, which OTLP senders do not retry. Here a
 * request whose body is late gets a retryable answer, and one whose headers are late gets none, as in Go's net/http: senders
 * treat that as a network fault. Bytes that are not HTTP are answered as Node does.
 */
function closeFaultyConnections(
  server: Server,
  awaited: PendingBodies,
  open: ReadonlySet<ServerResponse>,
): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const code = error.code ?? ''
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT' && awaited.giveUp(socket)) {
      const timer = setTimeout(() => socket.destroy(), LAST_ANSWER_MS)
      socket.once('close', () => clearTimeout(timer))
      return
    }
    const isAnswering = [...open].some((response) => response.socket === socket && response.headersSent)
    if (!code.startsWith('HPE_') || !socket.writable || isAnswering) {
      socket.destroy(error)
      return
    }
    const { http } = ANSWER_STATUSES[ownValue(FAULTS, code) ?? 'malformed']
    socket.write(`HTTP/1.1 ${http} ${STATUS_CODES[http] ?? ''}\r\nConnection: close\r\n\r\n`)
    socket.destroySoon()
  })
}

/** What a webhook requires of its callers. */
export interface WebhookCallerRules {
  /** Where it listens. */
  readonly host: string
  readonly authenticator: Authenticator | undefined
  readonly onKnown: (connection: Socket) => void
}

/** A caller that may post, or the answer that it gets instead. */
export type CheckedCaller =
  | { kind: 'known'; sender: Sender | undefined }
  /** The credential cannot be checked now. */
  | { kind: 'busy'; retryAfterMs: number }
  | { kind: 'refused'; status: number; reason: string; header?: readonly [string, string] }

const JSON_TYPE = /^application\/json\s*(?:;|$)/i

/** Checks the credential, method and content type of a webhook call, without reading its body. */
export async function checkWebhookCaller(
  request: IncomingMessage,
  { host, authenticator, onKnown }: WebhookCallerRules,
): Promise<CheckedCaller> {
  if (isDnsRebinding(host, request.headers, undefined))
    return {
      kind: 'refused',
      status: 403,
      reason: 'a page in a browser sent this to a name that is not known here',
    }
  let sender = senderOfConnection(request.socket)
  if (authenticator !== undefined) {
    const value = ownValue(request.headers, authenticator.header)
    const credential = typeof value === 'string' ? value : undefined
    const checked = await authenticator.check(credential, peerOf(request.socket.remoteAddress))
    if (checked.kind === 'busy') return checked
    if (checked.kind === 'unknown') {
      const header = ['WWW-Authenticate', authenticator.challenge] as const
      return { kind: 'refused', status: 401, reason: checked.reason, header }
    }
    onKnown(request.socket)
    sender = { ...sender, ...checked.sender }
  }
  if (request.method !== 'POST')
    return { kind: 'refused', status: 405, reason: 'use POST', header: ['Allow', 'POST'] }
  // Browsers let any page post other types across origins, without a preflight.
  if (!JSON_TYPE.test(request.headers['content-type'] ?? ''))
    return { kind: 'refused', status: 415, reason: 'unsupported Content-Type; use application/json' }
  return { kind: 'known', sender }
}

const senders = new WeakMap<TLSSocket, Sender>()

/** The sender that the client certificate of a connection names; undefined without one. */
export function senderOfConnection(socket: Socket): Sender | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined
  let sender = senders.get(socket)
  if (sender === undefined) {
    sender = { certificate: certificateNames(socket) ?? [] }
    senders.set(socket, sender)
  }
  return sender
}

/** Answers with a line of text, which the API server writes into its log. */
export function answerText(response: ServerResponse, status: number, text: string): void {
  answer(response, status, 'text/plain; charset=utf-8', `${text}\n`)
}

export function answerJson(response: ServerResponse, status: number, json: string): void {
  answer(response, status, 'application/json', json)
}

function answer(response: ServerResponse, status: number, type: string, text: string): void {
  const body = Buffer.from(text)
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length }).end(body)
}
