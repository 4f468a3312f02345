import type { Agent, IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { Json } from '../kubernetes/json-access.ts'
import { ApiError } from './api-error.ts'
import type { ClusterAccess } from './cluster-access.ts'
import type { Presented } from './credentials/credential.ts'
import { EarlyAgent, http, https } from './own-http.ts'

export interface Asked {
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
  async open(path: string, asked: Asked = {}): Promise<IncomingMessage> {
    const first = await this.#send(path, asked)
    if (first.statusCode !== UNAUTHORIZED) return await successOf(first)
    first.destroy()
    this.#access.credential.refused()
    return await successOf(await this.#send(path, asked))
  }

  /** The JSON there, which may have so many bytes; throws as `open` does, an AnswerTooLong, and a NoApiServer. */
  async json(path: string, maxBytes: number, asked: Asked = {}): Promise<Json> {
    const answer = await this.open(path, asked)
    const text = (await bytesOf(answer, maxBytes)).toString()
    try {
      return JSON.parse(text) as Json
    } catch (cause) {
      throw new NoApiServer('what answers there is no API server: it sent no JSON', { cause })
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
    request.on('timeout', () => request.destroy(new ServerSilent('it has been silent for too long')))
    request.on('error', reject)
    request.end(asked.body)
    return await promise
  }

  /** Connections are made with one certificate; another one needs others. */
  #agentFor({ cert, key }: Presented): Agent {
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
export class ServerSilent extends Error {}

/** An answer is none that an API server gives. */
export class NoApiServer extends Error {}

/** An answer had more bytes than may be held. */
export class AnswerTooLong extends Error {}

/** What is sent beside a path. */
interface Sent extends Omit<Asked, 'headers'> {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: Buffer
}

/** Whoever asks to be somebody else says all of it: no part of it is taken from the kubeconfig. */
function shownBeside(headers: OutgoingHttpHeaders = {}, { headers: shown }: Presented): OutgoingHttpHeaders {
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
