import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** As a controller writes them, whose client carries CPIDs. */
function configMap(number: number, version: number): object {
  const name = `settings-${number}`
  const uid = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
  const annotations = {
    'causeway.io/cpid': `00000000-0000-4000-9000-${String(version).padStart(12, '0')}`,
    'causeway.io/ancestor-cpids': '',
  }
  const owned = 'f:causeway.io/cpid'
  const managedFields = ['controller', 'kubectl-client-side-apply'].map((manager, at) => ({
    ...{ manager, operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' },
    time: '2026-01-01T00:00:00Z',
    fieldsV1: { 'f:data': { [`f:key-${at}`]: {} }, 'f:metadata': { 'f:annotations': { [owned]: {} } } },
  }))
  const metadata = {
    ...{ name, namespace: `team-${number % 100}`, uid, resourceVersion: String(version) },
    ...{ creationTimestamp: '2026-01-01T00:00:00Z', labels: { app: name }, annotations, managedFields },
  }
  const data = { 'key-0': 'x'.repeat(256), 'key-1': `value ${version}` }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }
}

/** An API server that has as many ConfigMaps as it is told to, lists them by pages, and tells a watch of changes once it is asked to. */
export async function serveObjects(
  objects: number,
  changes: number,
): Promise<AsyncDisposable & { readonly url: string }> {
  const watches = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    response.setHeader('content-type', 'application/json')
    if (pathname === '/change') {
      response.end()
      for (const watch of watches) void tellChanges(watch, objects, changes)
    } else if (searchParams.get('sendInitialEvents') !== null) {
      response.statusCode = 422
      response.end(
        JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Invalid', code: 422 }),
      )
    } else if (searchParams.get('watch') !== null && searchParams.get('watch') !== 'false') {
      watches.add(response)
      response.on('close', () => watches.delete(response))
      response.flushHeaders()
    } else void list(response, objects, searchParams)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function list(response: ServerResponse, objects: number, asked: URLSearchParams): Promise<void> {
  const first = Number(asked.get('continue') ?? 0)
  const end = Math.min(objects, first + Number(asked.get('limit') ?? objects))
  const metadata = { resourceVersion: String(objects), ...(end < objects && { continue: String(end) }) }
  await send(
    response,
    `{"kind":"ConfigMapList","apiVersion":"v1","metadata":${JSON.stringify(metadata)},"items":[`,
  )
  for (let number = first; number < end; number++)
    await send(response, `${number === first ? '' : ','}${JSON.stringify(configMap(number, number + 1))}`)
  response.end(']}')
}

async function tellChanges(watch: ServerResponse, objects: number, changes: number): Promise<void> {
  for (let at = 0; at < changes; at++) {
    const object = configMap(at % objects, objects + 1 + at)
    await send(watch, `${JSON.stringify({ type: 'MODIFIED', object })}\n`)
  }
}

async function send(to: ServerResponse, text: string): Promise<void> {
  if (!to.write(text)) await once(to, 'drain')
}
