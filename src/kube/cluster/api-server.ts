import type { Agent, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import { type Duplex, pipeline, type Readable } from 'node:stream'
import { errorText } from '../../model/faults.ts'
import { arrayIn, type Json, numberIn, objectIn, parseBounded, textIn } from '../objects/object-json.ts'
import type { ClusterAccess, PresentedCredential } from './cluster-access.ts'
import { environmentProxy } from './environment-proxy.ts'

interface ApiRequestOptions {
  /** Aborts the request, and the reading of its answer. */
  readonly signal?: AbortSignal
  /** JSON unless given. */
  readonly accept?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The idle timeout, in milliseconds. */
  readonly silenceMs?: number
  /** How long the headers and the JSON may take in total, in milliseconds. */
  readonly answerMs?: number
}

/** A request received from another client. */
interface ForwardedRequest {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  /** A stream is forwarded as it arrives. */
  readonly body: Buffer | Readable
  readonly signal: AbortSignal
}

const JSON_TYPE = 'application/json'
const USUAL_SILENCE_MS = 60_000
/** API servers end requests after a minute; the rest is for the network. */
const USUAL_ANSWER_MS = 180_000
/** At most this much of an error is read. */
const MAX_STATUS_BYTES = 65_536
const TCP_KEEP_ALIVE_MS = 30_000
const UNAUTHORIZED = 401
const HTTPS_PORT = 443

/** An API server as one user sees it. Its connections are kept alive for further requests; disposing ends them. */
export class ApiServer implements Disposable {
  readonly #access: ClusterAccess
  #agent: { agent: Agent; shown: readonly unknown[] } | undefined

  constructor(access: ClusterAccess) {
    this.#access = access
  }

  /** `https://10.0.0.1:6443`. */
  get address(): string {
    return this.#access.server.href.replace(/\/$/, '')
  }

  [Symbol.dispose](): void {
    this.#agent?.agent.destroy()
    this.#agent = undefined
  }

  /**
   * Connects in advance, so that the first request need not wait. Only if no credential has to be obtained first and there is no proxy.
   */
  connect(): void {
    const { server, tls, credential } = this.#access
    if (credential.fixed === undefined || this.#proxy !== '') return
    const agent = this.#agentFor(credential.fixed)
    const host = server.hostname.replaceAll(/^\[|\]$/g, '')
    const servername = tls.servername ?? (isIP(host) === 0 ? host : '')
    if (agent instanceof EarlyAgent)
      agent.connect({ ...agent.options, host, port: server.port || HTTPS_PORT, servername })
  }

  /**
   * The answer to a GET, which must be read to its end or destroyed. Throws an ApiError for an unsuccessful answer, and an Error
   * without an answer. A refused credential is renewed once.
   */
  async open(path: string, asked: ApiRequestOptions = {}): Promise<IncomingMessage> {
    return await within(asked, (timed) => this.#open(path, timed))
  }

  async #open(path: string, asked: ApiRequestOptions): Promise<IncomingMessage> {
    const first = await this.#send(path, asked)
    if (first.statusCode !== UNAUTHORIZED) return await successOf(first)
    first.destroy()
    this.#access.credential.refused()
    return await successOf(await this.#send(path, asked))
  }

  /** The JSON of an answer of at most `maxBytes`. Throws as `open` does, an AnswerTooLong, or a NotAnApiServer. */
  async json(path: string, maxBytes: number, asked: ApiRequestOptions = {}): Promise<Json> {
    const bytes = await within(asked, async (timed) => await bytesOf(await this.#open(path, timed), maxBytes))
    try {
      return parseBounded(bytes)
    } catch (cause) {
      if (cause instanceof RangeError) throw cause
      throw new NotAnApiServer('what answers there is no API server: it sent no JSON', { cause })
    }
  }

  /**
   * The answer to another client's request, made as this user, whatever its status; must be read to its end or destroyed. The request's
   * own impersonation headers take precedence over the user's. Throws an Error if there is no answer. A stream cannot be sent again with
   * a renewed credential.
   */
  async forward({ path, headers, ...asked }: ForwardedRequest): Promise<IncomingMessage> {
    const all = { ...asked, headers, silenceMs: 0 }
    const first = await this.#send(path, all)
    if (first.statusCode !== UNAUTHORIZED) return first
    this.#access.credential.refused()
    if (!Buffer.isBuffer(asked.body)) return first
    first.destroy()
    return await this.#send(path, all)
  }

  /** As `forward`, for a request to upgrade the protocol. Returns the connection if the server upgrades. */
  async upgrade(request: ForwardedRequest): Promise<Upgraded> {
    const first = await this.#upgrade(request)
    if (first.connection !== undefined || first.answer.statusCode !== UNAUTHORIZED) return first
    first.answer.destroy()
    this.#access.credential.refused()
    return await this.#upgrade(request)
  }

  async #upgrade({ path, headers, ...asked }: ForwardedRequest): Promise<Upgraded> {
    const { promise, resolve } = Promise.withResolvers<Upgraded>()
    const onUpgrade = (answer: IncomingMessage, connection: Duplex, first: Buffer): void =>
      resolve({ answer, connection, first })
    const answer = this.#send(path, { ...asked, headers, silenceMs: 0, onUpgrade })
    return await Promise.race([promise, answer.then((refused) => ({ answer: refused }))])
  }

  async #send(path: string, asked: Sent): Promise<IncomingMessage> {
    const { server } = this.#access
    const presented = await this.#access.credential.present()
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const prefix = server.pathname.replace(/\/$/, '')
    const { body } = asked
    const isPiped = body !== undefined && !Buffer.isBuffer(body)
    const request = (server.protocol === 'https:' ? https : http).request(
      // Concatenated: relative to a base URL, a path with two leading slashes would name another server.
      new URL(`${server.origin}${prefix}${path}`),
      {
        agent: this.#agentFor(presented),
        method: asked.method ?? 'GET',
        headers: {
          accept: asked.accept ?? JSON_TYPE,
          'user-agent': 'causeway',
          ...asked.headers,
          // Node adds it only to methods that usually have a body, which DELETE is not.
          ...(isPiped &&
            asked.headers?.['content-length'] === undefined && { 'transfer-encoding': 'chunked' }),
          ...shownBeside(asked.headers, presented),
        },
        timeout: asked.silenceMs ?? USUAL_SILENCE_MS,
        ...(asked.signal && { signal: asked.signal }),
      },
      resolve,
    )
    request.on('timeout', () => request.destroy(new ApiServerTimeout('it has been silent for too long')))
    request.on('error', reject)
    request.on('upgrade', asked.onUpgrade ?? refuseUpgrade(reject))
    // The request itself reports errors.
    if (isPiped) pipeline(body, request, () => undefined)
    else request.end(body)
    return await promise
  }

  get #proxy(): string {
    return this.#access.proxy || environmentProxy(this.#access.server)
  }

  /** The agent for this client certificate and CA. Connections with another one need a new agent. */
  #agentFor({ cert, key }: PresentedCredential): Agent {
    const { server, tls } = this.#access
    const proxy = this.#proxy
    const shown = [cert, key, proxy, tls.ca, tls.servername, tls.rejectUnauthorized]
    if (this.#agent?.shown.every((part, at) => part === shown[at]) === true) return this.#agent.agent
    const options = {
      keepAlive: true,
      keepAliveMsecs: TCP_KEEP_ALIVE_MS,
      proxyEnv: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy },
    }
    const agent =
      server.protocol === 'https:'
        ? new EarlyAgent({ ...options, ...tls, ...(cert !== undefined && { cert, key }) })
        : new http.Agent(options)
    if (this.#agent !== undefined) retire(this.#agent.agent)
    this.#agent = { agent, shown }
    return agent
  }
}

/** Lets the requests of an agent finish, then closes its connections. */
function retire(agent: Agent): void {
  agent.maxFreeSockets = 0
  for (const idle of Object.values(agent.freeSockets)) for (const socket of idle ?? []) socket.destroy()
  if (agent instanceof EarlyAgent) agent.dropEarly()
}

/** Throws an ApiServerTimeout if `read` takes longer than `answerMs`. Later reading of the answer is not timed. */
async function within<Read>(
  asked: ApiRequestOptions,
  read: (timed: ApiRequestOptions) => Promise<Read>,
): Promise<Read> {
  const { signal, answerMs = USUAL_ANSWER_MS } = asked
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), answerMs)
  try {
    return await read({ ...asked, signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal })
  } catch (error) {
    if (late.signal.aborted) throw new ApiServerTimeout(`its answer took longer than ${answerMs / 1_000} s`)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Rejects an upgrade that was not requested. Without a listener, Node would close the connection silently. */
export function refuseUpgrade(reject: (error: Error) => void) {
  return (_: IncomingMessage, connection: Duplex): void => {
    connection.destroy()
    reject(new Error('it switches to another protocol (101), which nobody asked for; correct the address'))
  }
}

/** No data arrived within the idle timeout, or the answer took too long. */
export class ApiServerTimeout extends Error {}

/** The answer does not look like that of an API server. */
export class NotAnApiServer extends Error {}

/** The answer had more bytes than may be held. */
export class AnswerTooLong extends Error {}

/** An answer, and the upgraded connection; without a connection the server stayed with HTTP. */
interface Upgraded {
  readonly answer: IncomingMessage
  readonly connection?: Duplex
  /** The data that arrived with the answer. */
  readonly first?: Buffer
}

/** What a request sends beside its path. */
interface Sent extends Omit<ApiRequestOptions, 'headers'> {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: Buffer | Readable
  readonly onUpgrade?: (answer: IncomingMessage, connection: Duplex, first: Buffer) => void
}

/** A request with impersonation headers states the whole identity: none of the kubeconfig's are added. */
function shownBeside(
  headers: OutgoingHttpHeaders = {},
  { headers: shown }: PresentedCredential,
): OutgoingHttpHeaders {
  const isAs = (name: string): boolean => name.startsWith('impersonate-')
  if (!Object.keys(headers).some(isAs)) return { ...shown }
  return Object.fromEntries(Object.entries(shown).filter(([name]) => !isAs(name)))
}

async function bytesOf(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new AnswerTooLong(`the answer has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes)
}

async function successOf(answer: IncomingMessage): Promise<IncomingMessage> {
  const { statusCode = 0, headers } = answer
  if (statusCode >= 200 && statusCode < 300) return answer
  const seconds = Number(headers['retry-after'] ?? Number.NaN)
  const body = await bytesOf(answer, MAX_STATUS_BYTES).catch(() => Buffer.alloc(0))
  throw new ApiError(statusCode, parsed(body.toString()), Number.isNaN(seconds) ? undefined : seconds * 1_000)
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    // A proxy in between may answer in plain text. HTML pages are not quoted.
    return text.trim().startsWith('<') ? undefined : { message: text.trim().slice(0, 200) }
  }
}

/** An unsuccessful answer of an API server, with the fields of its Status if it has one. */
export class ApiError extends Error {
  /** 403; 0 if the connection ended without an answer. */
  readonly status: number
  /** `Forbidden`, `Expired`. */
  readonly reason: string
  /** Whether the body is a Status. Proxies in between answer without one. */
  readonly isStatus: boolean
  /** After which delay to retry; undefined unless given. */
  readonly retryAfterMs: number | undefined
  /** `ResourceVersionTooLarge`, if the Status gives the cause. */
  readonly causes: readonly string[]

  constructor(status: number, body: Json | undefined, retryAfterMs?: number) {
    const told = textIn(body, 'message')
    super(told === '' ? `it answered ${status}` : told)
    this.name = 'ApiError'
    const details = objectIn(body, 'details')
    const seconds = numberIn(details, 'retryAfterSeconds')
    this.status = status === 0 ? numberIn(body, 'code') : status
    this.reason = textIn(body, 'reason')
    this.isStatus = textIn(body, 'kind') === 'Status'
    this.retryAfterMs = retryAfterMs ?? (seconds > 0 ? seconds * 1_000 : undefined)
    this.causes = arrayIn(details, 'causes').map((cause) => textIn(cause, 'reason'))
  }

  /** The requested versions are no longer kept: everything has to be listed again. */
  get isExpired(): boolean {
    return this.status === 410 || this.reason === 'Expired' || this.reason === 'Gone'
  }

  /** The requested version is newer than all that this server has. */
  get isTooNew(): boolean {
    return this.causes.includes('ResourceVersionTooLarge')
  }

  /** The error concerns the server or the credential, not the requested resource. */
  get isGeneral(): boolean {
    return this.status === 401 || this.status === 429 || this.status >= 500
  }

  /** The error stays until permissions or resources change. */
  get isRefusal(): boolean {
    return [403, 404, 405, 406].includes(this.status)
  }

  /** The server does not support the request; it may support another form. */
  get isInvalid(): boolean {
    return this.status === 400 || this.status === 422
  }
}

const UNAUTHORIZED_STATUS = 401

/** Node's error codes for failed connections, in plain words. */
const WORDS = new Map([
  ['aborted', 'the connection broke off in the middle of an answer'],
  ['socket hang up', 'the connection was closed before an answer came'],
])
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY)/
/** Node's advice in this message does not help kubeconfig users. */
const ADVICE_OF_NODE = /; if the root CA is installed locally.*$/s

/** Why an API server did not answer, in words for an operator. */
export function apiFailureText(error: unknown): string {
  if (error instanceof ApiError && error.status === UNAUTHORIZED_STATUS)
    return `it does not know who asks (${error.message}): the token or certificate has run out, or is of another cluster`
  const text = errorText(error).replace(ADVICE_OF_NODE, '')
  if (isCertificateTrouble(error)) return `its certificate is not trusted: ${text}`
  return WORDS.get(text) ?? text
}

/** Whether the server's certificate cannot be trusted. */
export function isCertificateTrouble(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'string' &&
    CERTIFICATE.test(error.code)
  )
}

/**
 * Node's HTTP module on its own. An import of `node:http` reads all of its names, one of which loads all of `fetch`. That takes three
 * times as long as HTTP itself, which short commands notice.
 */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')

/** An older idle connection may have been cut on the way. */
const OLDEST_EARLY_MS = 5_000

/** An agent that can connect in advance, so that the first request need not wait. */
class EarlyAgent extends https.Agent {
  #early: Duplex | undefined

  connect(options: RequestOptions): void {
    const early = super.createConnection(options) ?? undefined
    this.#early = early
    // The request then opens its own connection, and reports that failure.
    early?.on('error', () => undefined)
    setTimeout(() => this.#drop(early), OLDEST_EARLY_MS).unref()
  }

  override createConnection(
    ...args: Parameters<InstanceType<typeof https.Agent>['createConnection']>
  ): ReturnType<InstanceType<typeof https.Agent>['createConnection']> {
    const early = this.#early
    this.#early = undefined
    return early === undefined || early.destroyed ? super.createConnection(...args) : early
  }

  override destroy(): void {
    this.dropEarly()
    super.destroy()
  }

  /** Ends the connection that was made in advance, if it waits for its request. */
  dropEarly(): void {
    this.#drop(this.#early)
  }

  #drop(early: Duplex | undefined): void {
    if (early === undefined || early !== this.#early) return
    this.#early = undefined
    early.destroy()
  }
}
