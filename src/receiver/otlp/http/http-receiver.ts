import { createServer, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { Connections } from '../../../doors/connections.ts'
import { UnreadAnswers } from '../../../doors/unread-answers.ts'
import type { IngestPort, Signal } from '../../../model/ingest.ts'
import type { CorsSettings } from '../../../trust/cors.ts'
import { AwaitedBodies } from './awaited-bodies.ts'
import { BodyPace } from './body-pace.ts'
import { HttpExchange, type HttpExchangeSettings } from './http-exchange.ts'
import { closeFaultyConnections } from './http-faults.ts'
import { Intake } from '../../admission/intake.ts'
import { listen } from '../listen.ts'
import type { ReceiverObserver } from '../../observer.ts'
import {
  connectionLimitsOf,
  DEFAULT_MAX_MESSAGE_BYTES,
  DEFAULT_REQUEST_TIMEOUT_MS,
  FIRST_BYTES_MS,
  type ReceiverSettings,
  type RunningReceiver,
} from '../receiver-settings.ts'
import { followCertificates, openServerTls } from '../../../trust/server-tls.ts'
import { reportFailedHandshakes } from '../grpc/failed-handshakes.ts'

export interface HttpReceiverSettings extends ReceiverSettings {
  /** The path that takes traces; /v1/traces unless given. */
  tracesUrlPath?: string
  /** The path that takes logs; /v1/logs unless given. */
  logsUrlPath?: string
  cors?: CorsSettings
  /** Within how many milliseconds a sender must have sent the headers; 10 s unless given, 0 is for ever. */
  headersTimeoutMs?: number
  /** How long a connection may rest between requests, in milliseconds; 75 s unless given, 0 is for ever. */
  idleTimeoutMs?: number
  /** How long an answer may wait for its reader, in milliseconds; 30 s unless given, 0 is for ever. */
  writeTimeoutMs?: number
}

/** Longer than the interval at which exporters commonly send. */
const DEFAULT_IDLE_MS = 75_000
const MAX_HEADER_BYTES = 16 * 1024

/**
 * Takes OTLP/HTTP (OTLP specification, OTLP/HTTP), protobuf and JSON alike, and hands every request to the port as
 * protobuf. Rejects with an error that says what to do when it cannot listen.
 */
export async function startHttpReceiver(
  settings: HttpReceiverSettings,
  port: IngestPort,
  observer: ReceiverObserver,
): Promise<RunningReceiver> {
  const server = serverOf(settings)
  const intake = new Intake(settings, 'http', { port, observer })
  const awaited = new AwaitedBodies()
  const pace = new BodyPace(settings.bodyPaceMs)
  server.once('close', () => pace[Symbol.dispose]())
  const connections = new Connections(server, connectionLimitsOf(settings), (reason) =>
    intake.dropped(reason),
  )
  const exchange = exchangeOf(settings, intake, {
    awaited,
    pace,
    onKnown: (socket) => connections.known(socket),
  })
  if (settings.authenticator === undefined)
    server.on('secureConnection', (socket: TLSSocket) => connections.known(socket))
  const open = new Set<ServerResponse>()
  closeFaultyConnections(server, awaited, open)
  server.on('request', (request, response) => {
    if (!server.listening) response.setHeader('Connection', 'close')
    open.add(response)
    response.once('close', () => {
      open.delete(response)
      if (!server.listening) server.closeIdleConnections()
    })
    exchange.answer(request, response).catch(() => response.destroy())
  })
  new UnreadAnswers({ writeTimeoutMs: settings.writeTimeoutMs, onEnded: () => intake.unread() }).watch(server)
  return listen(server, settings, 'http', connections, {
    drain: () => {
      for (const response of open) if (!response.headersSent) response.setHeader('Connection', 'close')
    },
    giveUp: () => intake.stopWaiting(),
  })
}

function exchangeOf(
  settings: HttpReceiverSettings,
  intake: Intake,
  connections: Pick<HttpExchangeSettings, 'awaited' | 'pace' | 'onKnown'>,
): HttpExchange {
  const paths: Record<Signal, string> = {
    traces: settings.tracesUrlPath ?? '/v1/traces',
    logs: settings.logsUrlPath ?? '/v1/logs',
  }
  const routes = new Map(settings.signals.map((signal) => [paths[signal], signal]))
  const maxMessageBytes = settings.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES
  return new HttpExchange(
    { routes, maxMessageBytes, host: settings.host, cors: settings.cors, ...connections },
    intake,
  )
}

function serverOf(settings: HttpReceiverSettings): Server {
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
