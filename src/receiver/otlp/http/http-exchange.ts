import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { peerOf } from '../../../listeners/peer.ts'
import type { Signal } from '../../../model/ingest.ts'
import type { Sender } from '../../../model/senders/sender.ts'
import type { Authenticator, Checked } from '../../../trust/authenticator.ts'
import { encodeExportResponse, type Encoding } from '../../../otlp/write/export-response.ts'
import { encodeRpcStatus } from '../../../otlp/write/rpc-status.ts'
import { applyCors, type CorsSettings } from '../../../trust/cors.ts'
import { isDnsRebinding } from '../../../trust/own-site.ts'
import type { AwaitedBodies } from '../../http/awaited-bodies.ts'
import type { BodyPace } from '../../http/body-pace.ts'
import { holderOf } from '../../admission/holder-of.ts'
import { senderOver } from '../../http/http-sender-names.ts'
import type { Intake } from '../../admission/intake.ts'
import { readBody } from '../../http/read-body.ts'
import { REPLIES, retryAfterSeconds, rpcStatusOf, type WrongForm } from '../reply.ts'
import { ownValue } from '../../../model/own-value.ts'

export interface HttpExchangeSettings {
  /** The signal taken at each path. */
  routes: ReadonlyMap<string, Signal>
  maxMessageBytes: number
  /** Where it listens. */
  host: string
  cors: CorsSettings | undefined
  awaited: AwaitedBodies
  pace: BodyPace
  /** Told of every connection on which a credential was shown that is known. */
  onKnown: (connection: Socket) => void
}

const FOREIGN_PAGE =
  'a page in a browser sent this to a name that is not known here; list its origin under cors::allowed_origins of the receiver'

const CONTENT_TYPES: Readonly<Record<Encoding, string>> = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
}

/** Answers HTTP requests (OTLP specification, OTLP/HTTP). */
export class HttpExchange {
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
    let sender = senderOver(request.socket)
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
      send(response, REPLIES.wrongPath.http, 'text/plain; charset=utf-8', Buffer.from('404 page not found\n'))
    } else if (request.method !== 'POST') {
      response.setHeader('Allow', 'POST')
      sendStatus(response, 'wrongMethod', encoding, `${request.method ?? ''} is not supported; use POST`)
    } else if (encoding === undefined) {
      const reason = `unsupported Content-Type; use ${CONTENT_TYPES.protobuf} or ${CONTENT_TYPES.json}`
      this.#intake.answered(signal, { kind: 'malformed', reason }, 0)
      sendStatus(response, 'wrongType', encoding, reason)
    } else {
      await this.#export({ signal, encoding, sender }, request, response)
    }
  }

  /** For whom too many connections have a request under way. */
  refuseOneTooMany(request: IncomingMessage, response: ServerResponse, reason: string): void {
    sendStatus(response, 'tooManyConnections', encodingOf(request.headers['content-type']), reason)
  }

  /** Nothing of the body is read for somebody who is not known. */
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
      send(response, REPLIES.busy.http, CONTENT_TYPES[encoding ?? 'json'], status)
      return
    }
    this.#intake.turnedAway(checked)
    response.setHeader('WWW-Authenticate', challenge)
    sendStatus(response, 'unauthenticated', encoding, checked.reason)
  }

  async #export(
    { signal, encoding, sender }: { signal: Signal; encoding: Encoding; sender: Sender | undefined },
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const connection = request.socket
    using reservation = this.#intake.inFlight.open(holderOf(sender, peerOf(connection.remoteAddress)))
    const refusal = this.#intake.refusalOf(connection, reservation)
    const { maxMessageBytes: maxBytes, awaited, pace } = this.#settings
    const body = refusal ?? (await readBody(request, { maxBytes, reservation, awaited, pace }))
    reservation.isRead()
    if (body.kind === 'hungUp') return
    const length = body.kind === 'whole' ? body.bytes.length : 0
    const outcome = await this.#intake.ready(
      body.kind === 'whole'
        ? await this.#intake.ingest(signal, encoding, body.bytes, { sender, connection })
        : body,
    )
    this.#intake.answered(signal, outcome, length)
    const { http } = REPLIES[outcome.kind]
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

/** A refusal of the request's form; a sender whose type is unknown gets JSON, which people can read. */
function sendStatus(
  response: ServerResponse,
  kind: WrongForm,
  encoding: Encoding = 'json',
  message: string,
): void {
  const { http, grpc } = REPLIES[kind]
  send(response, http, CONTENT_TYPES[encoding], encodeRpcStatus(encoding, { code: grpc, message }))
}

function send(response: ServerResponse, status: number, contentType: string, body: Uint8Array): void {
  response.writeHead(status, { 'Content-Type': contentType, 'Content-Length': body.length }).end(body)
}
