import { SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api'
import { attributesOf, contextOf, type Annotated } from './cpid-context.ts'
import type { Draft, Resource, Resources } from './kube-objects.ts'

export interface Page<R extends Resource> {
  resourceVersion: number
  items: Resources[R][]
}

const NAMESPACE = 'default'

/** Talks to the API server; each call but a watch is a client span. Writes name the change they carry, reads do not. */
export class ApiClient {
  readonly #url: string
  readonly #tracer: Tracer

  constructor(url: string, tracer: Tracer) {
    this.#url = url
    this.#tracer = tracer
  }

  async list<R extends Resource>(resource: R): Promise<Resources[R][]> {
    const page = await this.#call<Page<R>>(`list ${resource}`, 'GET', `${resource}/${NAMESPACE}`)
    return page.items
  }

  create<R extends Resource>(resource: R, draft: Draft<Resources[R]>): Promise<Resources[R]> {
    return this.#call(`create ${resource}`, 'POST', `${resource}/${NAMESPACE}`, draft)
  }

  update<R extends Resource>(resource: R, object: Resources[R]): Promise<Resources[R]> {
    const path = `${resource}/${NAMESPACE}/${object.metadata.name}`
    return this.#call(`update ${resource}`, 'PUT', path, object)
  }

  /** What is newer than a version, as soon as there is something; empty after a while. */
  async watch<R extends Resource>(resource: R, newerThan: number, signal: AbortSignal): Promise<Page<R>> {
    const url = `${this.#url}/${resource}/${NAMESPACE}?watch&resourceVersion=${newerThan}`
    const response = await fetch(url, { signal })
    return (await response.json()) as Page<R>
  }

  #call<T>(name: string, method: string, path: string, body?: Annotated): Promise<T> {
    const attributes = {
      'http.request.method': method,
      'url.path': `/${path}`,
      ...(body !== undefined && attributesOf(contextOf(body))),
    }
    return this.#tracer.startActiveSpan(name, { kind: SpanKind.CLIENT, attributes }, async (span) => {
      try {
        const response = await fetch(`${this.#url}/${path}`, {
          method,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        })
        span.setAttribute('http.response.status_code', response.status)
        if (response.ok) return (await response.json()) as T
        span.setStatus({ code: SpanStatusCode.ERROR })
        throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
      } finally {
        span.end()
      }
    })
  }
}
