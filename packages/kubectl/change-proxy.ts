import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Duplex, pipeline } from 'node:stream'
import { ApiServer, http } from '../../src/kube/cluster/api-server.ts'
import { type ClusterAccess, fixedCredential } from '../../src/kube/cluster/cluster-access.ts'
import { errorText } from '../../src/model/faults.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { digestOf, includesSecret } from '../../src/platform/credentials.ts'
import { parseExactly } from './exact-json.ts'
import { asJson, forwardWrite, type SendWrite, type WriteAnswer } from './forward-write.ts'
import { changeIn, withoutChange } from './hidden-annotations.ts'
import { type KubectlChange, noteRead } from './kubectl-change.ts'
import type { Annotations } from './annotate-body.ts'
import { PROXY_USER } from './temporary-kubeconfig.ts'
import { writeTarget, type WriteTarget } from './write-target.ts'
import { arrayIn, objectIn } from '../../src/kube/objects/object-json.ts'
import { bytesAt, isProtobuf, RAW } from './protobuf-fields.ts'

/** What belongs to a connection, and what the program cannot know. */
const NOT_FORWARDED = new Set([
  ...['host', 'connection', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'http2-settings', 'expect', 'content-length', 'authorization'],
])
const SWITCHING = 101
/** As much as API servers take: a selector may be long. */
const MAX_HEAD_BYTES = 1_048_576
/** Some clients offer it wherever nothing is encrypted, and go on without. */
const HTTP2 = 'h2c'
const REFUSED = 'HTTP/1.1 407 Proxy Authentication Required\r\nconnection: close\r\n\r\n'

/**
 * A proxy between a program and an API server. It asks as the user, or with the credential that a request shows of its own, and puts a
 * change into what is written. Whoever connects has to show a token that was made for the one command, as one shows it to a proxy or at
 * the beginning of the path. Disposing ends what is asked.
 */
export class ChangeProxy implements Disposable {
  readonly #digests: Buffer[]
  readonly #asUser: ApiServer
  readonly #asShown: ApiServer
  readonly #change: KubectlChange
  readonly #onWrite: () => void
  readonly #prefix: string
  /** What the program itself wrote in the place of the change, by the path of the object. */
  readonly #own = new Map<string, Annotations>()
  readonly #server: Server

  /** `onWrite` is called whenever something was written. */
  constructor(access: ClusterAccess, change: KubectlChange, token: string, onWrite: () => void) {
    const basic = `Basic ${Buffer.from(`${PROXY_USER}:${token}`).toString('base64')}`
    this.#digests = [digestOf(basic), digestOf(token)]
    this.#asUser = new ApiServer(access)
    this.#asUser.connect()
    this.#asShown = new ApiServer({ ...access, credential: fixedCredential({ headers: {} }) })
    this.#change = change
    this.#onWrite = onWrite
    this.#prefix = access.server.pathname.replace(/\/$/, '')
    const options = {
      ...{ requestTimeout: 0, keepAliveTimeout: 0, maxHeaderSize: MAX_HEAD_BYTES },
      shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() !== HTTP2,
    }
    this.#server = http.createServer(options, (request, response) => {
      void this.#answer(request, response)
    })
    this.#server.on('connect', (_, socket: Duplex) => {
      socket.on('error', () => undefined)
      socket.end('HTTP/1.1 501 Not Implemented\r\nconnection: close\r\n\r\n')
    })
    this.#server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => undefined)
      if (this.#knows(request)) void this.#switch(request, socket, head)
      else socket.end(REFUSED)
    })
  }

  /** Serves somebody who connected. */
  serve(socket: Socket): void {
    this.#server.emit('connection', socket)
    socket.resume()
  }

  [Symbol.dispose](): void {
    this.#asUser[Symbol.dispose]()
    this.#asShown[Symbol.dispose]()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!this.#knows(request)) {
      response.writeHead(407, { 'proxy-authenticate': 'Basic realm="causeway"' }).end()
      return
    }
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    try {
      await this.#forward(request, response, gone.signal)
    } catch (error) {
      if (response.headersSent || gone.signal.aborted) response.destroy()
      else {
        const message = `${this.#asUser.address} gives no answer: ${errorText(error)}`
        answerFailure(response, { message, reason: 'ServiceUnavailable', code: 503 })
      }
    }
  }

  #knows({ headers, url }: IncomingMessage): boolean {
    return includesSecret(headers['proxy-authorization'] ?? splitPath(url).first, this.#digests)
  }

  /** Hands on a connection that is no longer one of HTTP: terminals, forwarded ports. */
  async #switch(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const gone = new AbortController()
    socket.on('close', () => gone.abort())
    const { method = 'GET' } = request
    const { api, shown } = this.#serverFor(request)
    const upgrade = { connection: 'upgrade', upgrade: request.headers.upgrade }
    const headers = { ...forwarded(request.headers), ...shown, ...upgrade }
    try {
      const asked = {
        method,
        path: this.#pathOf(request),
        headers,
        body: Buffer.alloc(0),
        signal: gone.signal,
      }
      const { answer, connection, first } = await api.upgrade(asked)
      socket.write(headOf(answer))
      const other = connection ?? answer
      if (first !== undefined) socket.write(first)
      if (connection === undefined) pipeline(other, socket, () => undefined)
      else {
        connection.write(head)
        pipeline(connection, socket, () => undefined)
        pipeline(socket, connection, () => undefined)
      }
    } catch (error) {
      socket.end(`HTTP/1.1 502 Bad Gateway\r\n\r\n${api.address} gives no answer: ${errorText(error)}\n`)
    }
  }

  /** Who is asked, and what a request shows of its own to be known by. */
  #serverFor({ headers: { authorization } }: IncomingMessage): {
    api: ApiServer
    shown: OutgoingHttpHeaders
  } {
    if (authorization === undefined) return { api: this.#asUser, shown: {} }
    return { api: this.#asShown, shown: { authorization } }
  }

  /** The path begins with the token, unless that was shown to the proxy. */
  #pathOf({ headers, url }: IncomingMessage): string {
    const { whole, rest, search } = splitPath(url)
    const path = headers['proxy-authorization'] === undefined ? rest : whole
    return `${path.startsWith(this.#prefix) ? path.slice(this.#prefix.length) : path}${search}`
  }

  async #forward(request: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void> {
    const { method = 'GET' } = request
    const path = this.#pathOf(request)
    const { api, shown } = this.#serverFor(request)
    const headers = { ...forwarded(request.headers), ...shown }
    const target = writeTarget(method, path)
    if (target === undefined && !isShort(request)) {
      const all = { ...forwarded(request.headers, true), ...shown }
      handOn(await api.forward({ method, path, headers: all, body: request, signal }), response)
      return
    }
    const { held, rest } = await heldOf(request)
    if (rest !== undefined) {
      answerFailure(response, {
        message: 'no object is that long',
        reason: 'RequestEntityTooLarge',
        code: 413,
      })
      return
    }
    const own = changeIn(held)
    const body = withoutChange(held)
    const isTried = isTrial(method, path)
    if (isTried || isOfOneObject(method, path)) {
      const asked = asJson(headers)
      const answer = await api.forward({ method, path, headers: sized(asked, body), body, signal })
      await this.#handOnObject(answer, isTried ? { own } : { path: path.replace(/[?].*/, '') }, response)
      return
    }
    if (target === undefined || isDryRun(method, target, body)) {
      handOn(await api.forward({ method, path, headers: sized(headers, body), body, signal }), response)
      return
    }
    const send: SendWrite = async (one) => {
      const answer = await api.forward({ ...one, headers: sized(one.headers, one.body), signal })
      const { held, rest } = await heldOf(answer)
      if (rest !== undefined) {
        rest.destroy()
        throw new Error('it answers a write without an end; it may have been made')
      }
      const { statusCode: status = 502, headers: said } = answer
      return { status, headers: forwarded(said), body: held }
    }
    const before = this.#change.wrote.length
    const answer: WriteAnswer = await forwardWrite(
      { method, path, headers, body },
      target,
      this.#change,
      send,
    )
    if (this.#change.wrote.length > before) this.#onWrite()
    if (Object.keys(own).length === 0) this.#own.delete(target.path)
    else if (target.path !== '') this.#own.set(target.path, own)
    const object = withoutChange(answer.body, own)
    response.writeHead(answer.status, sized(answer.headers, object)).end(object)
  }

  /** Unless it is longer than any, an object is shown without the change; and noted, where it was read at a path. */
  async #handOnObject(
    answer: IncomingMessage,
    { path = '', own = this.#own.get(path) }: { path?: string; own?: Annotations },
    response: ServerResponse,
  ): Promise<void> {
    const { held, rest } = await heldOf(answer)
    if (rest !== undefined) {
      handOn(answer, response, held)
      return
    }
    const { statusCode: status = 502, headers } = answer
    if (path !== '' && status === 200) noteRead(this.#change, path, parseExactly(held.toString()), randomCpid)
    const object = withoutChange(held, own)
    response.writeHead(status, sized(forwarded(headers), object)).end(object)
  }
}

/** Answers with what an API server answered, of which `begun` was read already. */
function handOn(answer: IncomingMessage, response: ServerResponse, begun?: Buffer): void {
  response.writeHead(answer.statusCode ?? 502, forwarded(answer.headers, true))
  if (begun !== undefined) response.write(begun)
  if (answer.readableEnded) response.end()
  else pipeline(answer, response, () => undefined)
}

/** Programs read an object before they change it. */
function isOfOneObject(method: string, path: string): boolean {
  if (method !== 'GET' || new URL(path, 'http://localhost').searchParams.has('watch')) return false
  const target = writeTarget('PATCH', path)
  return target !== undefined && target.subresource === ''
}

/** A write of one object that the API server only tries. */
function isTrial(method: string, path: string): boolean {
  const url = new URL(path, 'http://localhost')
  if (!url.searchParams.has('dryRun')) return false
  url.searchParams.delete('dryRun')
  return writeTarget(method, `${url.pathname}${url.search}`)?.subresource === ''
}

/** A path in parts; whoever asks a proxy names the server before it. */
function splitPath(url = '/'): { whole: string; first: string; rest: string; search: string } {
  // Anybody may ask for anything, before the token is looked for: nothing is thrown here.
  const { pathname: whole, search } = URL.parse(url, 'http://localhost') ?? { pathname: '/', search: '' }
  const [, first = '', ...others] = whole.split('/')
  return { whole, first, rest: `/${others.join('/')}`, search }
}

/** The head of an answer as it came; what it is read from has taken the body apart already. */
function headOf({ statusCode = 502, statusMessage = '', rawHeaders }: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`]
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (statusCode === SWITCHING || !NOT_FORWARDED.has(name.toLowerCase())) lines.push(`${name}: ${value}`)
  }
  if (statusCode !== SWITCHING) lines.push('connection: close')
  return `${lines.join('\r\n')}\r\n\r\n`
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
function answerFailure(
  response: ServerResponse,
  told: { message: string; reason: string; code: number },
): void {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', ...told }
  // A request that was not read to its end is followed by no other one.
  const headers = { 'content-type': 'application/json', connection: 'close' }
  response.writeHead(told.code, headers).end(JSON.stringify(status))
}

const MIB = 1_048_576
/** Five times as long as an API server takes them. */
const MAX_HELD_BYTES = 16 * MIB
/** What is held only to be sent again, should the credential have run out. */
const SHORT_BYTES = MIB

interface HeldBody {
  readonly held: Buffer
  /** Where there is more than may be held: where it comes from. */
  readonly rest?: IncomingMessage
}

/** Reads a body to its end, or as far as it may be held. */
async function heldOf(body: IncomingMessage): Promise<HeldBody> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes > MAX_HELD_BYTES) return { held: Buffer.concat(pieces, bytes), rest: body }
  }
  return { held: Buffer.concat(pieces, bytes) }
}

/** Whether a request says that its body is short, or has none. */
function isShort({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  return coding === undefined && Number(length ?? 0) <= SHORT_BYTES
}

/** Fields of Eviction and of DeleteOptions. */
const DELETE_OPTIONS = 2
const DRY_RUN = 5

/** Whether the body of a deletion, or of an eviction, says that nothing is to be done: what else is written says so in the query. */
export function isDryRun(method: string, { subresource }: WriteTarget, body: Buffer): boolean {
  const isEviction = subresource === 'eviction'
  if (method !== 'DELETE' && !isEviction) return false
  if (isProtobuf(body))
    return bytesAt(body, isEviction ? [RAW, DELETE_OPTIONS, DRY_RUN] : [RAW, DRY_RUN]) !== undefined
  const content = parseExactly(body.toString())
  return arrayIn(isEviction ? objectIn(content, 'deleteOptions') : content, 'dryRun').length > 0
}
