import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ClusterAccess, fixedCredential } from '../../../src/kube/cluster/cluster-access.ts'
import { type HistoryEvent, type KubeObject, ResourceHistory } from './resource-history.ts'

interface Watcher {
  readonly resource: string
  readonly namespace: string
  readonly response: ServerResponse
}

/** Answers a request in the place of the server; true when it did. */
export type Instead = (request: IncomingMessage, response: ServerResponse) => boolean

export interface ServedResource {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly verbs?: readonly string[]
}

const WIDGETS: ServedResource = { group: 'example.com', version: 'v1', resource: 'widgets', kind: 'Widget' }

/** A server on 127.0.0.1 that speaks an API server's list, watch and discovery, over a history in memory. */
export class TestApiServer implements AsyncDisposable {
  readonly history = new ResourceHistory()
  /** Paths with queries, in order. */
  readonly requests: string[] = []
  served: ServedResource[] = [WIDGETS]
  streamsLists = true
  /** Objects in a page at most, whatever is asked for. */
  maxPage = 1_000_000
  /** How many streamed lists to come break off after half of their objects. */
  brokenLists = 0
  /** Asked in this order before each answer. */
  readonly instead: Instead[] = []
  readonly #server: Server
  readonly #watchers = new Set<Watcher>()

  private constructor(server: Server) {
    this.#server = server
    server.on('request', (request: IncomingMessage, response: ServerResponse) =>
      this.#answer(request, response),
    )
    this.history.onEvent = (event) => this.#tell(event)
  }

  static async start(port = 0): Promise<TestApiServer> {
    const server = createServer()
    const { promise, resolve } = Promise.withResolvers<undefined>()
    server.listen(port, '127.0.0.1', () => resolve(undefined))
    await promise
    return new TestApiServer(server)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  get access(): ClusterAccess {
    const credential = fixedCredential({ headers: {} })
    return { name: 'test', server: new URL(this.url), tls: {}, proxy: '', credential, namespace: '' }
  }

  get watchers(): number {
    return this.#watchers.size
  }

  /** Written and not gone out yet, of the watch that has most. */
  get unsentBytes(): number {
    return Math.max(...[...this.#watchers].map(({ response }) => response.writableLength))
  }

  /** Sends everybody a bookmark. */
  bookmark(): void {
    for (const { response } of this.#watchers)
      response.write(line('BOOKMARK', bookmarkOf(this.history.version)))
  }

  /** Breaks every watch off, in the middle of a line if asked to. */
  cut(half = false): void {
    for (const { response } of this.#watchers)
      if (half) response.write('{"type":"MODIFIED","object":{"metadata":{"na', () => response.destroy())
      else response.destroy()
    this.#watchers.clear()
  }

  /** Ends every watch as its time being over does. */
  end(): void {
    for (const { response } of this.#watchers) response.end()
    this.#watchers.clear()
  }

  /** Writes the same to every watch. */
  write(text: string): void {
    for (const { response } of this.#watchers) response.write(text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    this.#server.close(() => resolve(undefined))
    this.#server.closeAllConnections()
    await promise
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', this.url)
    this.requests.push(`${url.pathname}${url.search}`)
    if (this.instead.some((instead) => instead(request, response))) return
    const [, root = '', ...rest] = url.pathname.split('/')
    if (rest.length === 0) {
      answerJson(response, 200, this.#discovered(root))
      return
    }
    const path = root === 'api' ? ['', ...rest] : rest
    const [group = '', version = ''] = path
    const namespace = path[2] === 'namespaces' && path.length > 4 ? (path[3] ?? '') : ''
    const resource = path.at(-1) ?? ''
    const served = this.served.find((one) => one.group === group && one.resource === resource)
    if (served?.version !== version) {
      answerStatus(response, 404, 'NotFound')
      return
    }
    if (url.searchParams.get('watch') === 'true') this.#watch(url, served, namespace, response)
    else this.#list(url, served, namespace, response)
  }

  #discovered(root: string): object {
    const items = this.served
      .filter(({ group }) => (group === '') === (root === 'api'))
      .map(({ group, version, resource, kind, verbs = ['get', 'list', 'watch'] }) => ({
        metadata: { name: group },
        versions: [
          { version, resources: [{ resource, responseKind: { kind }, scope: 'Namespaced', verbs }] },
        ],
      }))
    return { kind: 'APIGroupDiscoveryList', items }
  }

  #list(url: URL, { resource }: ServedResource, namespace: string, response: ServerResponse): void {
    const limit = Math.min(this.maxPage, Number(url.searchParams.get('limit') ?? '1000000'))
    const [asOf = '', after = ''] = (url.searchParams.get('continue') ?? '').split('/')
    const version = asOf === '' ? this.history.version : Number(asOf)
    if (version < this.history.compacted) {
      answerStatus(response, 410, 'Expired')
      return
    }
    const all = this.history
      .objects(resource, version)
      .filter((object) => namespace === '' || object.metadata.namespace === namespace)
      .filter(({ metadata }) => metadata.uid > after)
    const items = all.slice(0, limit)
    const last = all.length > limit ? items.at(-1) : undefined
    const token = last === undefined ? {} : { continue: `${version}/${last.metadata.uid}` }
    answerJson(response, 200, {
      kind: 'List',
      metadata: { resourceVersion: String(version), ...token },
      items,
    })
  }

  #watch(url: URL, { resource }: ServedResource, namespace: string, response: ServerResponse): void {
    const listsFirst = url.searchParams.get('sendInitialEvents') === 'true'
    if (listsFirst && !this.streamsLists) {
      answerStatus(response, 422, 'Invalid')
      return
    }
    const from = Number(url.searchParams.get('resourceVersion') ?? '0')
    const isOurs = (object: KubeObject): boolean =>
      namespace === '' || object.metadata.namespace === namespace
    if (!listsFirst && from < this.history.compacted) {
      answerStatus(response, 410, 'Expired')
      return
    }
    if (from > this.history.version) {
      answerStatus(response, 504, 'Timeout', { causes: [{ reason: 'ResourceVersionTooLarge' }] })
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    if (listsFirst) {
      const all = this.history.objects(resource).filter(isOurs)
      const isBroken = this.brokenLists > 0
      const sent = isBroken ? all.slice(0, Math.ceil(all.length / 2)) : all
      const text = sent.map((object) => line('ADDED', object)).join('')
      if (isBroken) {
        this.brokenLists--
        response.write(text, () => response.destroy())
        return
      }
      response.write(text)
      response.write(
        line('BOOKMARK', bookmarkOf(this.history.version, { 'k8s.io/initial-events-end': 'true' })),
      )
    } else
      for (const event of this.history.eventsAfter(from, resource))
        if (isOurs(event.object)) response.write(line(event.type, event.object))
    const watcher = { resource, namespace, response }
    this.#watchers.add(watcher)
    response.on('close', () => this.#watchers.delete(watcher))
  }

  #tell({ type, object, resource }: HistoryEvent): void {
    for (const watcher of this.#watchers)
      if (watcher.resource === resource && ['', object.metadata.namespace].includes(watcher.namespace))
        watcher.response.write(line(type, object))
  }
}

export function answerStatus(
  response: ServerResponse,
  code: number,
  reason: string,
  details: object = {},
): void {
  answerJson(response, code, { kind: 'Status', code, reason, message: `it says ${reason}`, details })
}

function answerJson(response: ServerResponse, code: number, body: object): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function line(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`
}

function bookmarkOf(version: number, annotations = {}): object {
  return { kind: 'Bookmark', metadata: { resourceVersion: String(version), annotations } }
}
