import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type ApiServer, http } from '../../src/kube/cluster/api-server.ts'
import { errorText } from '../../src/model/faults.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { digestOf, includesSecret } from '../../src/platform/credentials.ts'
import { isDryRun } from './dry-run.ts'
import { parseExactly } from './exact-json.ts'
import { asJson, forwardWrite, type SendWrite, type WriteAnswer } from './forward-write.ts'
import { type KubectlChange, noteRead } from './kubectl-change.ts'
import { PROXY_USER } from './temporary-kubeconfig.ts'
import { writeTarget } from './write-target.ts'

/** What belongs to a connection, and what kubectl cannot know. */
const NOT_FORWARDED = new Set([
  ...['host', 'connection', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'expect', 'content-length', 'authorization'],
])
/** An API server takes no longer ones. */
const MAX_BODY_BYTES = 64 * 1_048_576

/**
 * A proxy between kubectl and an API server. It asks as the user, and puts a change into what is written. Whoever connects has to show a
 * token that was made for the one command.
 */
export class ChangeProxy {
  readonly #digest: Buffer[]
  readonly #api: ApiServer
  readonly #change: KubectlChange
  readonly #onWrite: () => void
  readonly #prefix: string
  readonly #server: Server

  /** `onWrite` is called whenever something was written. */
  constructor(api: ApiServer, change: KubectlChange, token: string, onWrite: () => void) {
    this.#digest = [digestOf(`Basic ${Buffer.from(`${PROXY_USER}:${token}`).toString('base64')}`)]
    this.#api = api
    this.#change = change
    this.#onWrite = onWrite
    this.#prefix = new URL(api.address).pathname.replace(/\/$/, '')
    this.#server = http.createServer({ requestTimeout: 0, keepAliveTimeout: 0 }, (request, response) => {
      void this.#answer(request, response)
    })
    const refuse = (_: IncomingMessage, socket: Socket): void =>
      void socket.end('HTTP/1.1 501 Not Implemented\r\n\r\n')
    this.#server.on('connect', refuse).on('upgrade', refuse)
  }

  /** Serves somebody who connected. */
  serve(socket: Socket): void {
    this.#server.emit('connection', socket)
    socket.resume()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!includesSecret(request.headers['proxy-authorization'] ?? '', this.#digest)) {
      response.writeHead(407, { 'proxy-authenticate': 'Basic realm="causeway kubectl"' }).end()
      return
    }
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    try {
      await this.#forward(request, response, gone.signal)
    } catch (error) {
      if (response.headersSent || gone.signal.aborted) response.destroy()
      else answerFailure(response, `${this.#api.address} gives no answer: ${errorText(error)}`)
    }
  }

  async #forward(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const { method = 'GET' } = request
    const { pathname, search } = new URL(request.url ?? '/', 'http://localhost')
    const path = `${pathname.startsWith(this.#prefix) ? pathname.slice(this.#prefix.length) : pathname}${search}`
    const headers = forwarded(request.headers)
    const body = await buffer(request)
    if (body.length > MAX_BODY_BYTES) throw new Error('a request is too long')
    const send: SendWrite = async (one) => {
      const answer = await this.#api.forward({ ...one, headers: sized(one.headers, one.body), signal })
      const { statusCode: status = 502, headers: said } = answer
      return { status, headers: forwarded(said), body: await buffer(answer) }
    }
    if (isOfOneObject(method, path)) {
      const answer = await send({ method, path, headers: asJson(headers), body })
      if (answer.status === 200)
        noteRead(this.#change, path.replace(/[?].*/, ''), parseExactly(answer.body.toString()), randomCpid)
      response.writeHead(answer.status, sized(answer.headers, answer.body)).end(answer.body)
      return
    }
    const target = writeTarget(method, path)
    if (target === undefined || isDryRun(method, target, body)) {
      const answer = await this.#api.forward({ method, path, headers: sized(headers, body), body, signal })
      response.writeHead(answer.statusCode ?? 502, forwarded(answer.headers, true))
      pipeline(answer, response, () => undefined)
      return
    }
    const before = this.#change.wrote.length
    const answer: WriteAnswer = await forwardWrite(
      { method, path, headers, body },
      target,
      this.#change,
      send,
    )
    if (this.#change.wrote.length > before) this.#onWrite()
    response.writeHead(answer.status, sized(answer.headers, answer.body)).end(answer.body)
  }
}

/** kubectl reads an object before it changes it. */
function isOfOneObject(method: string, path: string): boolean {
  if (method !== 'GET' || new URL(path, 'http://localhost').searchParams.has('watch')) return false
  const target = writeTarget('PATCH', path)
  return target !== undefined && target.subresource === ''
}

const randomCpid = (): Cpid => randomUUID() as Cpid

function forwarded(headers: OutgoingHttpHeaders, withLength = false): OutgoingHttpHeaders {
  return Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !NOT_FORWARDED.has(name) || (withLength && name === 'content-length'),
    ),
  )
}

function sized(headers: OutgoingHttpHeaders, body: Buffer): OutgoingHttpHeaders {
  return body.length === 0 ? headers : { ...headers, 'content-length': body.length }
}

/** As an API server says it, so that kubectl shows it. */
function answerFailure(response: ServerResponse, message: string): void {
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message,
    reason: 'ServiceUnavailable',
    code: 503,
  }
  response.writeHead(503, { 'content-type': 'application/json' }).end(JSON.stringify(status))
}
