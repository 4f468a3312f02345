import type { Agent, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { errorText } from '../../model/faults.ts'
import { arrayIn, type Json, numberIn, objectIn, textIn } from '../objects/object-json.ts'
import type { ClusterAccess, PresentedCredential } from './cluster-access.ts'

export interface ApiRequestOptions {
  /** Ends it, and what is still read of its answer. */
  readonly signal?: AbortSignal
  /** JSON unless given. */
  readonly accept?: string
  readonly headers?: Readonly<Record<string, string>>
  /** How long nothing may come, in milliseconds. */
  readonly silenceMs?: number
}

/** A request as somebody else made it. */
export interface Forwarded {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly headers: OutgoingHttpHeaders
  readonly body: Buffer
  readonly signal: AbortSignal
}

const JSON_TYPE = 'application/json'
const USUAL_SILENCE_MS = 60_000
/** Errors are read so far. */
const MAX_STATUS_BYTES = 65_536
const TCP_KEEP_ALIVE_MS = 30_000
const UNAUTHORIZED = 401
const HTTPS_PORT = 443

/** An API server as one user sees it. Its connections are kept for what is asked next; disposing ends them. */
export class ApiServer implements Disposable {
  readonly #access: ClusterAccess
  #agent: { agent: Agent; shown: string } | undefined

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

  /** Connects already, so that what is asked first need not wait: where nobody has to be asked before, and none is in between. */
  connect(): void {
    const { server, tls, proxy, credential } = this.#access
    const isProxied = Boolean(proxy || process.env['HTTPS_PROXY'] || process.env['https_proxy'])
    if (credential.fixed === undefined || isProxied) return
    const agent = this.#agentFor(credential.fixed)
    const host = server.hostname.replaceAll(/^\[|\]$/g, '')
    const servername = tls.servername ?? (isIP(host) === 0 ? host : '')
    if (agent instanceof EarlyAgent)
      agent.connect({ ...agent.options, host, port: server.port || HTTPS_PORT, servername })
  }

  /**
   * The answer to a GET, to be read to its end or destroyed. Throws an ApiError when it is no success, and an Error when there is
   * none; a credential that is refused is obtained anew, once.
   */
  async open(path: string, asked: ApiRequestOptions = {}): Promise<IncomingMessage> {
    const first = await this.#send(path, asked)
    if (first.statusCode !== UNAUTHORIZED) return await successOf(first)
    first.destroy()
    this.#access.credential.refused()
    return await successOf(await this.#send(path, asked))
  }

  /** The JSON there, which may have so many bytes; throws as `open` does, an AnswerTooLong, and a NoApiServer. */
  async json(path: string, maxBytes: number, asked: ApiRequestOptions = {}): Promise<Json> {
    const answer = await this.open(path, asked)
    const text = (await bytesOf(answer, maxBytes)).toString()
    try {
      return JSON.parse(text) as Json
    } catch (cause) {
      throw new NotAnApiServer('what answers there is no API server: it sent no JSON', { cause })
    }
  }

  /**
   * The answer to somebody else's request, made as this user, whatever it is; to be read to its end or destroyed. As whom the request
   * wants to be counts more than as whom the user is. Throws an Error when there is no answer.
   */
  async forward({ path, headers, ...asked }: Forwarded): Promise<IncomingMessage> {
    const all = { ...asked, headers, silenceMs: 0 }
    const first = await this.#send(path, all)
    if (first.statusCode !== UNAUTHORIZED) return first
    first.destroy()
    this.#access.credential.refused()
    return await this.#send(path, all)
  }

  /** As `forward`, of a request to go on in another protocol: with the connection, where the server does. */
  async upgrade(request: Forwarded): Promise<Upgraded> {
    const first = await this.#upgrade(request)
    if (first.connection !== undefined || first.answer.statusCode !== UNAUTHORIZED) return first
    first.answer.destroy()
    this.#access.credential.refused()
    return await this.#upgrade(request)
  }

  async #upgrade({ path, headers, ...asked }: Forwarded): Promise<Upgraded> {
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
    const request = (server.protocol === 'https:' ? https : http).request(
      new URL(`${prefix}${path}`, server),
      {
        agent: this.#agentFor(presented),
        method: asked.method ?? 'GET',
        headers: {
          accept: asked.accept ?? JSON_TYPE,
          'user-agent': 'causeway',
          ...asked.headers,
          ...shownBeside(asked.headers, presented),
        },
        timeout: asked.silenceMs ?? USUAL_SILENCE_MS,
        ...(asked.signal && { signal: asked.signal }),
      },
      resolve,
    )
    request.on('timeout', () => request.destroy(new ApiServerTimeout('it has been silent for too long')))
    request.on('error', reject)
    if (asked.onUpgrade !== undefined) request.on('upgrade', asked.onUpgrade)
    request.end(asked.body)
    return await promise
  }

  /** Connections are made with one certificate; another one needs others. */
  #agentFor({ cert, key }: PresentedCredential): Agent {
    const shown = `${cert ?? ''}${key ?? ''}`
    if (this.#agent?.shown === shown) return this.#agent.agent
    const { server, tls, proxy } = this.#access
    const options = {
      keepAlive: true,
      keepAliveMsecs: TCP_KEEP_ALIVE_MS,
      proxyEnv: proxy === '' ? process.env : { HTTP_PROXY: proxy, HTTPS_PROXY: proxy },
    }
    const agent =
      server.protocol === 'https:'
        ? new EarlyAgent({ ...options, ...tls, ...(cert !== undefined && { cert, key }) })
        : new http.Agent(options)
    // What runs over the former goes on to its end.
    this.#agent = { agent, shown }
    return agent
  }
}

/** Nothing came for as long as it may be silent. */
export class ApiServerTimeout extends Error {}

/** An answer is none that an API server gives. */
export class NotAnApiServer extends Error {}

/** An answer had more bytes than may be held. */
export class AnswerTooLong extends Error {}

/** An answer, and the connection on which something else goes on; without one the server stayed with HTTP. */
interface Upgraded {
  readonly answer: IncomingMessage
  readonly connection?: Duplex
  /** What came of it with the answer. */
  readonly first?: Buffer
}

/** What is sent beside a path. */
interface Sent extends Omit<ApiRequestOptions, 'headers'> {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: Buffer
  readonly onUpgrade?: (answer: IncomingMessage, connection: Duplex, first: Buffer) => void
}

/** Whoever asks to be somebody else says all of it: no part of it is taken from the kubeconfig. */
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
    // A proxy in between may answer in words; of a page for browsers there is nothing to say.
    return text.trim().startsWith('<') ? undefined : { message: text.trim().slice(0, 200) }
  }
}

/** An answer of an API server that is no success: its Status, as far as it is one. */
export class ApiError extends Error {
  /** 403; 0 where the connection did not come to an answer. */
  readonly status: number
  /** `Forbidden`, `Expired`. */
  readonly reason: string
  /** It is in the form that API servers give errors; something else, such as a proxy, answers otherwise. */
  readonly isStatus: boolean
  /** When to ask again; undefined where it does not say. */
  readonly retryAfterMs: number | undefined
  /** `ResourceVersionTooLarge`, where the Status says why. */
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

  /** The versions asked for are no longer kept: everything is to be listed anew. */
  get isExpired(): boolean {
    return this.status === 410 || this.reason === 'Expired' || this.reason === 'Gone'
  }

  /** The version asked for is newer than all that this server has. */
  get isTooNew(): boolean {
    return this.causes.includes('ResourceVersionTooLarge')
  }

  /** It says something of the server, or of who asks, and nothing of what was asked for. */
  get isGeneral(): boolean {
    return this.status === 401 || this.status === 429 || this.status >= 500
  }

  /** It will say the same for as long as rights and resources stay as they are. */
  get isRefusal(): boolean {
    return [403, 404, 405, 406].includes(this.status)
  }

  /** It does not take what was asked; something else may do. */
  get isInvalid(): boolean {
    return this.status === 400 || this.status === 422
  }
}

const UNAUTHORIZED_STATUS = 401

/** What Node says of connections that end, in words that say what happened. */
const WORDS = new Map([
  ['aborted', 'the connection broke off in the middle of an answer'],
  ['socket hang up', 'the connection was closed before an answer came'],
])
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET_ISSUER|VERIFY)/
/** What Node advises beside it helps nobody who has a kubeconfig. */
const ADVICE_OF_NODE = /; if the root CA is installed locally.*$/s

/** Why there is no answer of an API server, for an operator. */
export function apiFailureText(error: unknown): string {
  if (error instanceof ApiError && error.status === UNAUTHORIZED_STATUS)
    return `it does not know who asks (${error.message}): the token or certificate has run out, or is of another cluster`
  const text = errorText(error).replace(ADVICE_OF_NODE, '')
  if (isCertificateTrouble(error)) return `its certificate is not trusted: ${text}`
  return WORDS.get(text) ?? text
}

/** Whether the server showed a certificate that cannot be trusted. */
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
 * Node's HTTP by itself: an import of `node:http` reads every name in it, of which one loads all of `fetch`, and that takes three
 * times as long as HTTP does. Commands that end at once notice.
 */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')

/** A connection that is older may have been cut on the way. */
const OLDEST_EARLY_MS = 5_000

/** An agent that can connect before anything is asked; what is asked first then need not wait. */
export class EarlyAgent extends https.Agent {
  #early: Duplex | undefined

  connect(options: RequestOptions): void {
    const early = super.createConnection(options) ?? undefined
    this.#early = early
    // Whoever asks connects anew then, and is told why that fails.
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
    this.#drop(this.#early)
    super.destroy()
  }

  #drop(early: Duplex | undefined): void {
    if (early === undefined || early !== this.#early) return
    this.#early = undefined
    early.destroy()
  }
}
