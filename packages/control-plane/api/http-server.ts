import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ApiClient, Listing } from './api-client.ts'
import { readPath, type Target } from './http-paths.ts'
import { badRequest, HttpRefusal, statusFor, SUCCESS } from './http-status.ts'
import type { KubeObject } from './kube-objects.ts'
import { readObject, readPreconditions } from './read-object.ts'
import { typeMeta } from './resource-types.ts'

export interface ApiServer extends AsyncDisposable {
  readonly url: string
}

const WHOLE_NUMBER = /^\d+$/

/**
 * Serves on the loopback address, with the paths and answers of the Kubernetes API, whatever a client gives access to; so
 * its latency and its faults come along. Disposing of the server ends every watch.
 */
export async function serveApi(client: ApiClient, port = 0): Promise<ApiServer> {
  const closed = new AbortController()
  const server = createServer((request, response) => {
    const work = answer({ client, request, response, closed: closed.signal })
    work.catch((error: unknown) => {
      if (response.headersSent) response.destroy()
      else reply(response, statusFor(error).code, statusFor(error))
    })
  })
  server.listen(port, '127.0.0.1')
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

interface Exchange {
  client: ApiClient
  request: IncomingMessage
  response: ServerResponse
  /** Aborts when the server closes. */
  closed: AbortSignal
}

async function answer(exchange: Exchange): Promise<void> {
  const { client, request, response } = exchange
  const url = new URL(request.url ?? '/', 'http://localhost')
  const target = readPath(url.pathname)
  if (target === undefined) throw new HttpRefusal(404, 'NotFound', `there is nothing at ${url.pathname}`)
  const { resource, namespace = '', name, isStatus } = target
  const call = `${request.method ?? ''} ${name === undefined ? 'collection' : isStatus ? 'status' : 'object'}`
  switch (call) {
    case 'GET collection':
      if (isSet(url.searchParams.get('watch'))) await watch(exchange, target, versionIn(url))
      else reply(response, 200, listOf(target, await client.list(resource)))
      return
    case 'POST collection': {
      const object = await readObject(request, target)
      reply(response, 201, await client.create(resource, object as never))
      return
    }
    case 'GET object':
      reply(response, 200, await client.get(resource, { namespace, name: name ?? '' }))
      return
    case 'PUT object':
    case 'PUT status': {
      const object = (await readObject(request, target)) as never
      const updated = isStatus ? client.updateStatus(resource, object) : client.update(resource, object)
      reply(response, 200, await updated)
      return
    }
    case 'DELETE object':
      await client.delete(
        resource,
        { namespace, name: name ?? '' },
        {
          ...deleteOptions(url),
          ...(await readPreconditions(request)),
        },
      )
      reply(response, 200, SUCCESS)
      return
    default:
      throw new HttpRefusal(405, 'MethodNotAllowed', `${url.pathname} does not take ${request.method ?? ''}`)
  }
}

/** Sends each event as a line of JSON; an error that ends the watch is the last event. */
async function watch(
  { client, response, closed }: Exchange,
  { resource, namespace }: Target,
  version: string,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const signal = AbortSignal.any([closed, gone.signal])
  const send = async (type: string, object: object) => {
    if (response.write(`${JSON.stringify({ type, object })}\n`)) return
    await once(response, 'drain', { signal })
  }
  response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
  try {
    for await (const { type, object } of client.watch(resource, version, signal)) {
      if (isIn(namespace, object)) await send(type, object)
    }
  } catch (error) {
    if (!signal.aborted) await send('ERROR', statusFor(error))
  }
  response.end()
}

function listOf({ resource, namespace }: Target, { resourceVersion, items }: Listing<KubeObject>): object {
  const { apiVersion, kind } = typeMeta(resource)
  return {
    kind: `${kind}List`,
    apiVersion,
    metadata: { resourceVersion },
    items: items.filter((object) => isIn(namespace, object)),
  }
}

function isIn(namespace: string | undefined, { metadata }: KubeObject): boolean {
  return namespace === undefined || metadata.namespace === namespace
}

function versionIn({ searchParams }: URL): string {
  const version = searchParams.get('resourceVersion') ?? ''
  if (WHOLE_NUMBER.test(version)) return version
  throw badRequest(`a watch needs the resourceVersion of a list or an object, got "${version}"`)
}

function deleteOptions({ searchParams }: URL): { gracePeriodSeconds?: number } {
  const seconds = searchParams.get('gracePeriodSeconds')
  if (seconds === null) return {}
  if (WHOLE_NUMBER.test(seconds)) return { gracePeriodSeconds: Number(seconds) }
  throw badRequest(`gracePeriodSeconds must be a whole number, got "${seconds}"`)
}

function isSet(flag: string | null): boolean {
  return flag !== null && flag !== 'false' && flag !== '0'
}

function reply(response: ServerResponse, code: number, body: object): void {
  response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
