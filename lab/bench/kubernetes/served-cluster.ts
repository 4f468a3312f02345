import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { epochMs } from '../load/messages.ts'
import { standingPod, writesOfApp, WRITES_OF_APP } from './app-writes.ts'
import type { FromCluster, WriteOrder } from './cluster-messages.ts'

const RESOURCES = [
  { group: '', version: 'v1', resource: 'pods', kind: 'Pod' },
  { group: 'apps', version: 'v1', resource: 'deployments', kind: 'Deployment' },
  { group: 'apps', version: 'v1', resource: 'replicasets', kind: 'ReplicaSet' },
  { group: 'discovery.k8s.io', version: 'v1', resource: 'endpointslices', kind: 'EndpointSlice' },
]
/** More of a watch is not written before its reader has taken some. */
const MAX_UNREAD = 1024 * 1024

/** Speaks the list and watch of an API server over a cluster that stands still until it is told to deploy applications. */
class ServedCluster {
  readonly #watches = new Map<string, ServerResponse>()
  #pods = 0
  #version = 0
  #apps = 0

  stand(pods: number): void {
    this.#pods = pods
    this.#version = pods
  }

  answer(path: string, query: URLSearchParams, response: ServerResponse): void {
    if (path === '/api' || path === '/apis') {
      json(response, discovered(path === '/api'))
      return
    }
    const resource = path.split('/').at(-1) ?? ''
    if (query.get('watch') !== 'true') {
      this.#list(resource, query, response)
      return
    }
    if (query.get('sendInitialEvents') === 'true') {
      response.statusCode = 422
      json(response, { kind: 'Status', status: 'Failure', reason: 'Invalid', code: 422 })
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    this.#watches.set(resource, response)
  }

  /** Returns when it wrote, and when each hundredth version was written. */
  async write({ apps, perSecond }: WriteOrder): Promise<FromCluster> {
    while (this.#watches.size < RESOURCES.length) await sleep(50)
    const startedMs = epochMs()
    const writtenMs: [version: number, ms: number][] = []
    let written = 0
    for (let app = 0; app < apps; app++) {
      for (const { resource, type, object } of writesOfApp(this.#apps++, new Date().toISOString())) {
        const watch = this.#watches.get(resource)
        if (watch === undefined) throw new Error(`nobody watches ${resource}`)
        const version = ++this.#version
        const metadata = { ...object.metadata, resourceVersion: String(version) }
        watch.write(`${JSON.stringify({ type, object: { ...object, metadata } })}\n`)
        if (++written % 10 === 0) writtenMs.push([version, epochMs()])
        if (watch.writableLength > MAX_UNREAD) await once(watch, 'drain')
      }
      const dueMs = perSecond === undefined ? 0 : startedMs + (written / perSecond) * 1_000
      if (dueMs > epochMs()) await sleep(dueMs - epochMs())
    }
    return {
      kind: 'written',
      startedMs,
      endedMs: epochMs(),
      writes: apps * WRITES_OF_APP,
      version: this.#version,
      writtenMs,
    }
  }

  #list(resource: string, query: URLSearchParams, response: ServerResponse): void {
    const count = resource === 'pods' ? this.#pods : 0
    const from = Number(query.get('continue') ?? '0')
    const until = Math.min(count, from + Number(query.get('limit') ?? '500'))
    const items = Array.from({ length: until - from }, (_, at) => standingPod(from + at))
    const token = until < count ? { continue: String(until) } : {}
    json(response, { kind: 'List', metadata: { resourceVersion: String(this.#version), ...token }, items })
  }
}

function discovered(isCore: boolean): object {
  const items = RESOURCES.filter(({ group }) => (group === '') === isCore).map((one) => ({
    metadata: { name: one.group },
    versions: [
      {
        version: one.version,
        resources: [
          {
            ...{ resource: one.resource, responseKind: { kind: one.kind }, scope: 'Namespaced' },
            verbs: ['get', 'list', 'watch'],
          },
        ],
      },
    ],
  }))
  return { kind: 'APIGroupDiscoveryList', items }
}

function json(response: ServerResponse, body: object): void {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(body))
}

const cluster = new ServedCluster()
const tell = (message: FromCluster): void => void process.send?.(message)
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
  cluster.answer(pathname, searchParams, response)
})
process.on('message', (order: WriteOrder | { kind: 'stand'; pods: number }) => {
  if (order.kind === 'stand') cluster.stand(order.pods)
  else cluster.write(order).then(tell, (error: unknown) => tell({ kind: 'failed', reason: String(error) }))
})
process.on('disconnect', () => process.exit(0))
server.listen(0, '127.0.0.1', () => tell({ kind: 'ready', port: (server.address() as AddressInfo).port }))
