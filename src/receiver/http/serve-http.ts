import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { Connections, type DropReason } from '../../listeners/connections.ts'
import { countRequests } from '../../listeners/count-requests.ts'
import { UnreadAnswers } from '../../listeners/unread-answers.ts'
import { followCertificates, openServerTls } from '../../trust/server-tls.ts'
import type { ListenPurpose } from '../listening/cannot-listen.ts'
import { reportFailedHandshakes } from '../listening/failed-handshakes.ts'
import { listen } from '../listening/listen.ts'
import {
  connectionLimitsOf,
  DEFAULT_REQUEST_TIMEOUT_MS,
  FIRST_BYTES_MS,
  type ListenerSettings,
  type RunningReceiver,
} from '../listening/receiver-settings.ts'
import { AwaitedBodies } from './awaited-bodies.ts'
import { BodyPace } from './body-pace.ts'
import { closeFaultyConnections } from './http-faults.ts'

export interface HttpSettings extends ListenerSettings {
  /** Within how many milliseconds a sender must have sent the headers; 10 s unless given, 0 is for ever. */
  headersTimeoutMs?: number
  /** How long a connection may rest between requests, in milliseconds; 75 s unless given, 0 is for ever. */
  idleTimeoutMs?: number
  /** How long an answer may wait for its reader, in milliseconds; 30 s unless given, 0 is for ever. */
  writeTimeoutMs?: number
  /** In so many milliseconds a kilobyte of a body has to come; 10 s unless given. */
  bodyPaceMs?: number
}

/** What watches over a server's requests while they come. */
export interface HttpGuards {
  readonly awaited: AwaitedBodies
  readonly pace: BodyPace
  /** To be called for every connection on which a credential was shown that is known. */
  readonly onKnown: (connection: Socket) => void
}

/** What becomes of a server's requests, and of whoever comes too often. */
export interface HttpService {
  /** Answers; a request for which it rejects loses its connection. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>
  /** Answers at once whatever is still in flight when the grace period ends. */
  giveUp(): void
  dropped(reason: DropReason): void
  /** Answers a request that is one too many; as text unless given. */
  refuse?(request: IncomingMessage, response: ServerResponse, reason: string): void
  unread(): void
}

/** Longer than the interval at which exporters commonly send. */
const DEFAULT_IDLE_MS = 75_000
const MAX_HEADER_BYTES = 16 * 1024

/**
 * Serves HTTP, or HTTPS, within the limits that all receivers have: of connections, of times, of answers that nobody reads.
 * Rejects with an error that says what to do when it cannot listen.
 */
export async function serveHttp(
  settings: HttpSettings,
  purpose: ListenPurpose,
  serviceOf: (guards: HttpGuards) => HttpService,
): Promise<RunningReceiver> {
  const server = serverOf(settings)
  const awaited = new AwaitedBodies()
  const pace = new BodyPace(settings.bodyPaceMs)
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
  new UnreadAnswers({ writeTimeoutMs: settings.writeTimeoutMs, onEnded }).watch(server)
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
  }
  if (settings.tls === undefined) return createServer(options)
  const secured = openServerTls(`receiver ${settings.receiver}`, settings.tls, settings.onTrouble)
  const server = createTlsServer({ ...options, ...secured.current })
  followCertificates(server, secured)
  reportFailedHandshakes(server, settings)
  return server
}
