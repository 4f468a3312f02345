import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { CorsSettings } from '../../model/connection-settings.ts'
import { ownValue } from '../../model/untrusted-names.ts'
import type { IngestPort, Sender, Signal } from '../../model/otlp-requests.ts'
import { encodeExportResponse, encodeRpcStatus, type Encoding } from '../../model/otlp/responses.ts'
import { applyCors, isDnsRebinding } from '../../platform/browser-origins.ts'
import { peerOf } from '../../platform/connections.ts'
import type { Authenticator, Checked } from '../../platform/credentials.ts'
import {
  ANSWER_STATUSES,
  type Refusal,
  type RequestFault,
  retryAfterSeconds,
  rpcStatusOf,
} from '../answer-statuses.ts'
import { type PendingBodies, readBody, type SlowBodyWatch } from '../request-body.ts'
import { type HttpSettings, senderOfConnection, serveHttp } from '../http-server.ts'
import { budgetHolderOf } from '../in-flight.ts'
import { Intake } from '../intake.ts'
import { DEFAULT_MAX_MESSAGE_BYTES, type ReceiverSettings, type RunningListener } from '../listener.ts'
import type { ReceiverObserver } from '../receiver-type.ts'

export interface HttpReceiverSettings extends ReceiverSettings, HttpSettings {
  /** The path that takes traces; /v1/traces unless given. */
  tracesUrlPath?: string
  /** The path that takes logs; /v1/logs unless given. */
  logsUrlPath?: string
  /** The path that takes metrics; /v1/metrics unless given. */
  metricsUrlPath?: string
  cors?: CorsSettings
}

/**
 * Takes OTLP/HTTP (OTLP specification, OTLP/HTTP), protobuf and JSON alike, and hands every request to the port as
 * protobuf. Rejects with an error that says what to do when it cannot listen.
 */
export function startHttpReceiver(
  settings: HttpReceiverSettings,
  port: IngestPort,
  observer: ReceiverObserver,
): Promise<RunningListener> {
  const intake = new Intake(settings, 'http', { port, observer })
  const paths: Record<Signal, string> = {
    traces: settings.tracesUrlPath ?? '/v1/traces',
    logs: settings.logsUrlPath ?? '/v1/logs',
    metrics: settings.metricsUrlPath ?? '/v1/metrics',
  }
  const routes = new Map(settings.signals.map((signal) => [paths[signal], signal]))
  const maxMessageBytes = settings.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES
  const { host, cors } = settings
  const purpose = { what: 'OTLP/http', setting: 'protocols::http::endpoint' }
  return serveHttp(settings, purpose, (guards) => {
    const exchange = new HttpExchange({ routes, maxMessageBytes, host, cors, ...guards }, intake)
    return {
      answer: (request, response) => exchange.answer(request, response),
      giveUp: () => intake.stopWaiting(),
      refuse: (request, response, reason) => exchange.refuseOneTooMany(request, response, reason),
      dropped: (reason) => intake.reportDropped(reason),
      unread: () => intake.reportUnread(),
    }
  })
}

interface HttpExchangeSettings {
  /** The signal taken at each path. */
  routes: ReadonlyMap<string, Signal>
  maxMessageBytes: number
  /** Where it listens. */
  host: string
  cors: CorsSettings | undefined
  awaited: PendingBodies
  pace: SlowBodyWatch
  /** Called for every connection that has shown a valid credential. */
  onKnown: (connection: Socket) => void
}

const FOREIGN_PAGE =
  'a page in a browser sent this to a name that is not known here; list its origin under cors::allowed_origins of the receiver'

const CONTENT_TYPES: Readonly<Record<Encoding, string>> = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
}

/** Answers HTTP requests (OTLP specification, OTLP/HTTP). */
class HttpExchange {
  readonly #settings: HttpExchangeSettings
  readonly #intake: Intake

  constructor(settings: HttpExchangeSettings, intake: Intake) {
    this.#settings = settings
    this.#intake = intake
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { cors, routes, host } = this.#settings
    if (cors !== undefined && applyCors(cors, request, response)) {
      response.writeHead(204).end()
      return
    }
    if (isDnsRebinding(host, request.headers, cors)) {
      const encoding = encodingOf(request.headers['content-type'])
      sendStatus(response, 'foreignPage', encoding, FOREIGN_PAGE)
      return
    }
    const { authenticator } = this.#intake
    let sender = senderOfConnection(request.socket)
    if (authenticator !== undefined) {
      const value = ownValue(request.headers, authenticator.header)
      const checked = await authenticator.check(
        typeof value === 'string' ? value : undefined,
        peerOf(request.socket.remoteAddress),
      )
      if (checked.kind !== 'known') {
        this.#refuse(checked, authenticator, request, response)
        return
      }
      this.#settings.onKnown(request.socket)
      sender = { ...sender, ...checked.sender }
    }
    const signal = routes.get((request.url ?? '').replace(/\?.*$/s, ''))
    const encoding = encodingOf(request.headers['content-type'])
    if (signal === undefined) {
      send(
        response,
        ANSWER_STATUSES.wrongPath.http,
        'text/plain; charset=utf-8',
        Buffer.from('404 page not found\n'),
      )
    } else if (request.method !== 'POST') {
      response.setHeader('Allow', 'POST')
      sendStatus(response, 'wrongMethod', encoding, `${request.method ?? ''} is not supported; use POST`)
    } else if (encoding === undefined) {
      const reason = `unsupported Content-Type; use ${CONTENT_TYPES.protobuf} or ${CONTENT_TYPES.json}`
      this.#intake.reportAnswer(signal, { kind: 'malformed', reason }, 0)
      sendStatus(response, 'wrongType', encoding, reason)
    } else {
      await this.#export({ signal, encoding, sender }, request, response)
    }
  }

  /** Answers a request over the connection limit. */
  refuseOneTooMany(request: IncomingMessage, response: ServerResponse, reason: string): void {
    sendStatus(response, 'tooManyConnections', encodingOf(request.headers['content-type']), reason)
  }

  /** Refuses a caller without a valid credential, without reading the body. */
  #refuse(
    checked: Exclude<Checked, { kind: 'known' }>,
    { challenge }: Authenticator,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const encoding = encodingOf(request.headers['content-type'])
    if (checked.kind === 'busy') {
      response.setHeader('Retry-After', retryAfterSeconds(checked) ?? 1)
      const status = encodeRpcStatus(encoding ?? 'json', rpcStatusOf(checked))
      send(response, ANSWER_STATUSES.busy.http, CONTENT_TYPES[encoding ?? 'json'], status)
      return
    }
    this.#intake.unauthenticated(checked)
    response.setHeader('WWW-Authenticate', challenge)
    sendStatus(response, 'unauthenticated', encoding, checked.reason)
  }

  async #export(
    { signal, encoding, sender }: { signal: Signal; encoding: Encoding; sender: Sender | undefined },
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const connection = request.socket
    using reservation = this.#intake.inFlight.open(budgetHolderOf(sender, peerOf(connection.remoteAddress)))
    const admitted = await new Promise<Refusal | (() => void)>((resolve) =>
      this.#intake.admit(connection, reservation, resolve),
    )
    const { maxMessageBytes: maxBytes, awaited, pace } = this.#settings
    let body
    if (typeof admitted === 'function') {
      if (connection.destroyed) {
        admitted()
        return
      }
      try {
        body = await readBody(request, { maxBytes, reservation, awaited, pace })
      } finally {
        admitted()
      }
    } else body = admitted
    reservation.markRead()
    if (body.kind === 'hungUp') return
    const length = body.kind === 'whole' ? body.bytes.length : 0
    const outcome = await this.#intake.delayRefusal(
      body.kind === 'whole'
        ? await this.#intake.ingest(signal, encoding, body.bytes, { sender, connection })
        : body,
    )
    this.#intake.reportAnswer(signal, outcome, length)
    const { http } = ANSWER_STATUSES[outcome.kind]
    if (outcome.kind === 'accepted') {
      send(response, http, CONTENT_TYPES[encoding], encodeExportResponse(signal, encoding, outcome))
      return
    }
    if (outcome.kind === 'busy' && outcome.cause === 'time') response.setHeader('Connection', 'close')
    const retryAfter = retryAfterSeconds(outcome)
    if (retryAfter !== undefined) response.setHeader('Retry-After', retryAfter)
    send(response, http, CONTENT_TYPES[encoding], encodeRpcStatus(encoding, rpcStatusOf(outcome)))
  }
}

function encodingOf(contentType = ''): Encoding | undefined {
  const bare = contentType.replace(/;.*$/s, '').trim().toLowerCase()
  if (bare === CONTENT_TYPES.protobuf) return 'protobuf'
  return bare === CONTENT_TYPES.json ? 'json' : undefined
}

/** Answers a request that is refused before its body is decoded; as JSON when its content type is unknown. */
function sendStatus(
  response: ServerResponse,
  kind: RequestFault,
  encoding: Encoding = 'json',
  message: string,
): void {
  const { http, grpc } = ANSWER_STATUSES[kind]
  send(response, http, CONTENT_TYPES[encoding], encodeRpcStatus(encoding, { code: grpc, message }))
}

function send(response: ServerResponse, status: number, contentType: string, body: Uint8Array): void {
  response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': body.length }).end(body)
}
