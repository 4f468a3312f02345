import { randomUUID } from 'node:crypto'
import type { IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { type Duplex, pipeline } from 'node:stream'
import { ApiServer, http, https } from '../../src/kube/cluster/api-server.ts'
import { type ClusterAccess, fixedCredential } from '../../src/kube/cluster/cluster-access.ts'
import { errorText } from '../../src/model/faults.ts'
import type { Cpid } from '../../src/model/merge-graph.ts'
import { digestOf, includesSecret } from '../../src/platform/credentials.ts'
import { parseExactly } from './exact-json.ts'
import { asJson, forwardWrite, type SendWrite, type WriteAnswer } from './forward-write.ts'
import { changeIn, withoutChange } from './hidden-annotations.ts'
import { type KubectlChange, noteRead } from './kubectl-change.ts'
import type { LocalCertificate } from './local-certificate.ts'
import type { Annotations } from './annotate-body.ts'
import { PROXY_USER } from './temporary-kubeconfig.ts'
import { writeTarget, type WriteTarget } from './write-target.ts'
import { arrayIn, objectIn } from '../../src/kube/objects/object-json.ts'
import { bytesAt, isProtobuf, RAW } from './protobuf-fields.ts'

/** Headers of one connection, and credentials, which the proxy sets itself. */
const NOT_FORWARDED = new Set([
  ...['host', 'connection', 'keep-alive', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'http2-settings', 'expect', 'content-length', 'authorization'],
])
const SWITCHING = 101
/** The header limit of API servers: a selector may be long. */
const MAX_HEAD_BYTES = 1_048_576
/** The TLS alerts of a client that does not trust the certificate (RFC 8446, section 6.2). */
const DISTRUST = /_ALERT_(?:UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN)$/
const OWN_CERTIFICATE =
  'causeway run cannot show the API server a certificate that the program has of its own; ' +
  'put it into a kubeconfig and give that to causeway run --kubeconfig'
/** Some clients offer this upgrade on plain connections, and go on without it. */
const HTTP2 = 'h2c'
const REFUSED = 'HTTP/1.1 407 Proxy Authentication Required\r\nconnection: close\r\n\r\n'

/**
 * A proxy between a program and an API server. It forwards requests as the user, or with the request's own credential, and adds a change
 * to writes. Clients must present a token made for this one command, as Proxy-Authorization or as the first part of the path. Disposing
 * ends requests in flight.
 */
export class ChangeProxy implements Disposable {
  readonly #digests: Buffer[]
  readonly #asUser: ApiServer
  readonly #asShown: ApiServer
  readonly #change: KubectlChange
  readonly #onWrite: () => void
  readonly #prefix: string
  /** Annotations under the change's own keys that the program itself wrote, by the path of the object. */
  readonly #own = new Map<string, Annotations>()
  readonly #server: Server
  #isDistrusted = false

  /** `onWrite` is called after every write. The proxy speaks TLS if `tls` is given. */
  constructor(
    access: ClusterAccess,
    change: KubectlChange,
    { token, tls }: { token: string; tls?: LocalCertificate | undefined },
    onWrite: () => void,
  ) {
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
    const answer = (request: IncomingMessage, response: ServerResponse): void => {
      void this.#answer(request, response)
    }
    this.#server =
      tls === undefined
        ? http.createServer(options, answer)
        : https.createServer(
            { ...options, cert: tls.certificate, key: tls.key, requestCert: true, rejectUnauthorized: false },
            answer,
          )
    this.#server.on('tlsClientError', ({ code = '' }: NodeJS.ErrnoException) => {
      if (DISTRUST.test(code)) this.#isDistrusted = true
    })
    this.#server.on('connect', (_, socket: Duplex) => {
      socket.on('error', () => undefined)
      socket.end('HTTP/1.1 501 Not Implemented\r\nconnection: close\r\n\r\n')
    })
    this.#server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => undefined)
      if (showsCertificate(request))
        socket.end(`HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n${OWN_CERTIFICATE}\n`)
      else if (this.#knows(request)) void this.#switch(request, socket, head)
      else socket.end(REFUSED)
    })
  }

  /** Whether a client did not trust its certificate. */
  get isDistrusted(): boolean {
    return this.#isDistrusted
  }

  /** Serves a connection. */
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
    if (showsCertificate(request)) {
      answerFailure(response, { message: OWN_CERTIFICATE, reason: 'BadRequest', code: 400 })
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

  /** Forwards a connection that is upgraded from HTTP: terminals, forwarded ports. */
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

  /** The API server to ask, and the request's own credential if it has one. */
  #serverFor({ headers: { authorization } }: IncomingMessage): {
    api: ApiServer
    shown: OutgoingHttpHeaders
  } {
    if (authorization === undefined) return { api: this.#asUser, shown: {} }
    return { api: this.#asShown, shown: { authorization } }
  }

  /** The path without the token, which is its first part unless the token came as Proxy-Authorization. */
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
        message: 'the object is too long',
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

  /** Answers with an object without the change's annotations, unless it is too long to be one; and notes it if read at a path. */
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

/** Passes on the answer of an API server; `begun` is the part that was read already. */
function handOn(answer: IncomingMessage, response: ServerResponse, begun?: Buffer): void {
  response.writeHead(answer.statusCode ?? 502, forwarded(answer.headers, true))
  if (begun !== undefined) response.write(begun)
  if (answer.readableEnded) response.end()
  else pipeline(answer, response, () => undefined)
}

/** Whether a request reads one object, as programs do before they change it. */
function isOfOneObject(method: string, path: string): boolean {
  if (method !== 'GET' || new URL(path, 'http://localhost').searchParams.has('watch')) return false
  const target = writeTarget('PATCH', path)
  return target !== undefined && target.subresource === ''
}

/** Whether a request is a dry run of a write of one object. */
function isTrial(method: string, path: string): boolean {
  const url = new URL(path, 'http://localhost')
  if (!url.searchParams.has('dryRun')) return false
  url.searchParams.delete('dryRun')
  return writeTarget(method, `${url.pathname}${url.search}`)?.subresource === ''
}

/** The parts of a request target; requests to a proxy have an absolute URL. */
function splitPath(url = '/'): { whole: string; first: string; rest: string; search: string } {
  // Runs before the token is checked, on any input, so it must not throw.
  const { pathname: whole, search } = URL.parse(url, 'http://localhost') ?? { pathname: '/', search: '' }
  const [, first = '', ...others] = whole.split('/')
  return { whole, first, rest: `/${others.join('/')}`, search }
}

/** Whether a program presents a client certificate, which cannot be forwarded: the API server would see the kubeconfig's user. */
function showsCertificate({ socket }: IncomingMessage): boolean {
  return socket instanceof TLSSocket && Object.keys(socket.getPeerCertificate()).length > 0
}

/** The head of an answer, without the framing headers: Node has decoded the body already. */
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

/** Answers with a Status, as an API server does, so that kubectl shows it. */
function answerFailure(
  response: ServerResponse,
  told: { message: string; reason: string; code: number },
): void {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', ...told }
  // The request may be unread, so the connection cannot be reused.
  const headers = { 'content-type': 'application/json', connection: 'close' }
  response.writeHead(told.code, headers).end(JSON.stringify(status))
}

const MIB = 1_048_576
/** Five times the limit of API servers. */
const MAX_HELD_BYTES = 16 * MIB
/** Bodies up to this length are kept for a retry with a renewed credential. */
const SHORT_BYTES = MIB

interface HeldBody {
  readonly held: Buffer
  /** The source of the rest, if the body is too long to be held. */
  readonly rest?: IncomingMessage
}

/** Reads a body to its end, or up to MAX_HELD_BYTES. */
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

/** Whether a request declares a short body or none. */
function isShort({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = headers
  return coding === undefined && Number(length ?? 0) <= SHORT_BYTES
}

/** Fields of Eviction and of DeleteOptions. */
const DELETE_OPTIONS = 2
const DRY_RUN = 5

/** Whether the body of a deletion or eviction asks for a dry run. Other writes ask for it in the query. */
export function isDryRun(method: string, { subresource }: WriteTarget, body: Buffer): boolean {
  const isEviction = subresource === 'eviction'
  if (method !== 'DELETE' && !isEviction) return false
  if (isProtobuf(body))
    return bytesAt(body, isEviction ? [RAW, DELETE_OPTIONS, DRY_RUN] : [RAW, DRY_RUN]) !== undefined
  const content = parseExactly(body.toString())
  return arrayIn(isEviction ? objectIn(content, 'deleteOptions') : content, 'dryRun').length > 0
}
