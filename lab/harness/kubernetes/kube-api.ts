import { request, type Agent, type RequestOptions } from 'node:https'
import { createInterface } from 'node:readline'
import type { IncomingMessage } from 'node:http'

/** A line of a watch: what happened, and the object as it was then. */
export interface WatchLine {
  readonly type: string
  readonly object: object
}

type Headers = Readonly<Record<string, string>>

/** How a patch is put together with what is there. */
type PatchType = 'merge-patch' | 'strategic-merge-patch' | 'json-patch'

const JSON_TYPE = 'application/json'

/** An API server as one of its users sees it. */
export class KubeApi {
  readonly #port: number
  readonly #ca: string
  readonly #agent: Agent | false
  #always: Headers

  /** Every request has a connection of its own unless there is an agent that keeps them, and names no program unless one is given. */
  constructor(port: number, ca: string, token: string, agent: Agent | false = false, userAgent?: string) {
    this.#port = port
    this.#ca = ca
    this.#agent = agent
    this.#always = { authorization: `Bearer ${token}`, ...(userAgent && { 'user-agent': userAgent }) }
  }

  /** The same API server with more headers: as somebody else (`impersonate-user`), or with another token. */
  with(headers: Headers): KubeApi {
    const other = new KubeApi(this.#port, this.#ca, '', this.#agent)
    other.#always = { ...this.#always, ...headers }
    return other
  }

  get<Answer>(path: string): Promise<Answer> {
    return this.#ask<Answer>('GET', path)
  }

  /** As a client does that is traced; `traceparent` is that of its span. */
  getTraced<Answer>(path: string, traceparent: string): Promise<Answer> {
    return this.#ask<Answer>('GET', path, undefined, JSON_TYPE, { traceparent })
  }

  create<Answer>(path: string, object: object): Promise<Answer> {
    return this.#ask<Answer>('POST', path, object)
  }

  replace<Answer>(path: string, object: object): Promise<Answer> {
    return this.#ask<Answer>('PUT', path, object)
  }

  /** Merges `change` into the object. */
  patch<Answer>(path: string, change: object, type: PatchType = 'merge-patch'): Promise<Answer> {
    return this.#ask<Answer>('PATCH', path, change, `application/${type}+json`)
  }

  /** Applies the fields that `manager` wants of an object, and takes those that others want too where it is forced. */
  apply<Answer>(path: string, object: object, manager: string, isForced = false): Promise<Answer> {
    const query = `fieldManager=${manager}&force=${isForced}`
    return this.#ask<Answer>('PATCH', `${path}?${query}`, object, 'application/apply-patch+yaml')
  }

  /** `options` are a DeleteOptions, such as how its dependents are to go. */
  delete<Answer>(path: string, options?: object): Promise<Answer> {
    return this.#ask<Answer>('DELETE', path, options)
  }

  /**
   * Tells each line of a watch until the server or `signal` ends it; rejects with an Error where it was refused or torn off.
   */
  async watch(path: string, told: (line: WatchLine) => void, signal: AbortSignal): Promise<void> {
    const response = await this.#send({ method: 'GET', path, signal })
    if ((response.statusCode ?? 0) >= 300)
      throw new Error(`GET ${path} is answered ${response.statusCode}: ${await textOf(response)}`)
    for await (const line of createInterface({ input: response, crlfDelay: Infinity }))
      told(JSON.parse(line) as WatchLine)
  }

  /** What it answers, parsed where it is JSON; throws an Error with its words unless that is a success. */
  async #ask<Answer>(
    method: string,
    path: string,
    object?: object,
    type = JSON_TYPE,
    more: Headers = {},
  ): Promise<Answer> {
    const response = await this.#send({ method, path }, object, type, more)
    const text = await textOf(response)
    const { statusCode = 0 } = response
    if (statusCode >= 300) throw new Error(`${method} ${path} is answered ${statusCode}: ${text}`)
    return (text.startsWith('{') ? JSON.parse(text) : text) as Answer
  }

  #send(
    options: RequestOptions,
    object?: object,
    type = JSON_TYPE,
    more: Headers = {},
  ): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const body = object === undefined ? undefined : JSON.stringify(object)
    // Node gives a DELETE with a body no length by itself.
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
    const headers = { ...this.#always, 'content-type': type, ...length, ...more }
    const where = { host: 'localhost', port: this.#port, ca: this.#ca, agent: this.#agent, family: 4 }
    const asked = request({ ...where, ...options, headers }, resolve)
    asked.on('error', reject).end(body)
    return promise
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk as string
  return text
}
