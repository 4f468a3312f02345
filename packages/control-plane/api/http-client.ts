import type { ApiClient, DeleteOptions, Listing, Location, WatchEvent } from './api-client.ts'
import { pathOf } from './http-paths.ts'
import { errorFor } from './http-status.ts'
import type { Draft, KubeObject, Resource, Resources } from './kube-objects.ts'

interface ListAnswer<T> {
  metadata: { resourceVersion: string }
  items: T[]
}

interface EventLine {
  type: string
  object: unknown
}

/** A client that speaks HTTP to an API server, as those of Kubernetes do. */
export class HttpClient implements ApiClient {
  readonly #url: string

  /** @param url such as `http://127.0.0.1:8001` */
  constructor(url: string) {
    this.#url = url
  }

  get<R extends Resource>(resource: R, at: Location): Promise<Resources[R]> {
    return this.#ask('GET', pathOf(resource, at))
  }

  async list<R extends Resource>(resource: R): Promise<Listing<Resources[R]>> {
    const { metadata, items } = await this.#ask<ListAnswer<Resources[R]>>('GET', pathOf(resource))
    return { resourceVersion: metadata.resourceVersion, items }
  }

  create<R extends Resource>(resource: R, draft: Draft<Resources[R]>): Promise<Resources[R]> {
    return this.#ask('POST', pathOf(resource, { namespace: draft.metadata.namespace }), draft)
  }

  update<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]> {
    return this.#ask('PUT', pathOf(resource, locationOf(object)), object)
  }

  updateStatus<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]> {
    return this.#ask('PUT', `${pathOf(resource, locationOf(object))}/status`, object)
  }

  async delete(
    resource: Resource,
    { name, namespace }: Location,
    { gracePeriodSeconds, uid }: DeleteOptions = {},
  ): Promise<void> {
    const options = gracePeriodSeconds === undefined ? '' : `?gracePeriodSeconds=${gracePeriodSeconds}`
    const path = pathOf(resource, { name, namespace }) + options
    const only = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid } }
    await this.#ask('DELETE', path, uid === undefined ? undefined : only)
  }

  async *watch<R extends Resource>(
    resource: R,
    resourceVersion: string,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<Resources[R]>> {
    const path = `${pathOf(resource)}?watch=true&resourceVersion=${resourceVersion}`
    const response = await this.#send('GET', path, { signal })
    if (!response.ok || response.body === null) throw errorFor(await answerOf(response), `GET ${path}`)
    for await (const line of linesOf(response.body, signal)) {
      const { type, object } = JSON.parse(line) as EventLine
      if (type === 'ERROR') throw errorFor(object, `GET ${path}`)
      if (isChange(type)) yield { type, object: object as Resources[R] }
    }
  }

  async #ask<T>(method: string, path: string, body?: object): Promise<T> {
    const headers = { 'content-type': 'application/json' }
    const init = body === undefined ? {} : { headers, body: JSON.stringify(body) }
    const response = await this.#send(method, path, init)
    const answer = await answerOf(response)
    if (!response.ok) throw errorFor(answer, `${method} ${path}`)
    return answer as T
  }

  async #send(method: string, path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(this.#url + path, { ...init, method })
    } catch (cause) {
      init.signal?.throwIfAborted()
      throw new Error(`${method} ${path}: the API server at ${this.#url} does not answer`, { cause })
    }
  }
}

function locationOf({ metadata: { name, namespace } }: KubeObject): Location {
  return { name, namespace }
}

/** Undefined when the body is no JSON. */
async function answerOf(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    return undefined
  }
}

/** Whole lines, up to where the connection drops. */
async function* linesOf(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncIterable<string> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const bytes of body) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch {
    signal.throwIfAborted()
  }
}

function isChange(type: string): type is WatchEvent<KubeObject>['type'] {
  return type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED'
}
