import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from './kube-objects.ts'
import { ObjectStore, type Listing, type StoreFault } from './object-store.ts'

export interface ApiServer extends AsyncDisposable {
  readonly url: string
}

type Answer = Listing | KubeObject | StoreFault

const STATUS: Readonly<Record<StoreFault, number>> = { NotFound: 404, AlreadyExists: 409, Conflict: 409 }
const LONGEST_WATCH_MS = 10_000
const STORING_MS = 8

/**
 * An API server on the loopback address, whose paths are those of object references: GET and POST `/v1/pods/default`,
 * PUT `/v1/pods/default/web-1`. GET with `?watch&resourceVersion=7` answers when something there is newer than 7, or
 * empty after a while.
 */
export async function startApiServer(): Promise<ApiServer> {
  const store = new ObjectStore()
  const closed = new AbortController()
  const server = createServer((request, response) => {
    answer(store, request, closed.signal).then(
      (found) => reply(response, found),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      closed.abort()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answer(store: ObjectStore, request: IncomingMessage, closed: AbortSignal): Promise<Answer> {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const path = url.pathname.slice(1)
  if (request.method !== 'GET') {
    const object = (await json(request)) as KubeObject
    await sleep(STORING_MS)
    return request.method === 'POST' ? store.create(path, object) : store.replace(path, object)
  }
  if (!url.searchParams.has('watch')) return store.list(path)
  return watch(store, path, Number(url.searchParams.get('resourceVersion')), closed)
}

async function watch(
  store: ObjectStore,
  collection: string,
  newerThan: number,
  closed: AbortSignal,
): Promise<Answer> {
  const over = AbortSignal.any([closed, AbortSignal.timeout(LONGEST_WATCH_MS)])
  try {
    return await store.watch(collection, newerThan, over)
  } catch (error) {
    if (!over.aborted) throw error
    return { resourceVersion: newerThan, items: [] }
  }
}

function reply(response: ServerResponse, found: Answer): void {
  const status = typeof found === 'string' ? STATUS[found] : 200
  const body = typeof found === 'string' ? { reason: found } : found
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
