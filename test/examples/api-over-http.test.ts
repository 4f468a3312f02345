import { expect, test } from '@jest/globals'
import type { ApiClient, WatchEvent } from '../../packages/control-plane/api/api-client.ts'
import { HttpClient } from '../../packages/control-plane/api/http-client.ts'
import { serveApi } from '../../packages/control-plane/api/http-server.ts'
import type { Resource, Resources } from '../../packages/control-plane/api/kube-objects.ts'
import { LocalClient, type Connection } from '../../packages/control-plane/api/local-client.ts'
import { ObjectStore } from '../../packages/control-plane/api/object-store.ts'
import { Chance } from '../../packages/control-plane/chance.ts'
import { deployment, node, service } from '../../packages/control-plane/manifests.ts'
import { REAL_CLOCK } from '../../packages/control-plane/real-clock.ts'
import { Informer } from '../../packages/control-plane/runtime/informer.ts'

const WEB = { namespace: 'default', name: 'web' }
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const NO_TIME = { least: 0, most: 0 }

/** A store, and an API server with a client for it. */
async function startApi(connection: Partial<Connection> = {}, historyLength = 1_000) {
  const chance = new Chance(1)
  const store = new ObjectStore({ clock: REAL_CLOCK, chance, historyLength })
  const local = new WatchedClient(store, {
    clock: REAL_CLOCK,
    chance,
    readMs: NO_TIME,
    writeMs: NO_TIME,
    watchMs: NO_TIME,
    watchDrops: 0,
    watchExpires: 0,
    ...connection,
  })
  const server = await serveApi(local)
  const client: ApiClient = new HttpClient(server.url)
  return { store, local, server, client, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

/** Tells when a watch that goes through it has ended. */
class WatchedClient extends LocalClient {
  readonly #ended = Promise.withResolvers<boolean>()

  get ended(): Promise<boolean> {
    return this.#ended.promise
  }

  override async *watch<R extends Resource>(
    ...asked: Parameters<LocalClient['watch']>
  ): AsyncIterable<WatchEvent<Resources[R]>> {
    try {
      yield* super.watch(...asked) as AsyncIterable<WatchEvent<Resources[R]>>
    } finally {
      this.#ended.resolve(true)
    }
  }
}

/** What a client that is no HttpClient gets. */
async function ask(url: string, init: RequestInit = {}) {
  const response = await fetch(url, init)
  return { code: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function nextOf<T>(events: AsyncIterator<T>): Promise<T> {
  const next = await events.next()
  if (next.done === true) throw new Error('the watch is over')
  return next.value
}

function pods(client: ApiClient, from: string, signal = new AbortController().signal) {
  return client.watch('v1/pods', from, signal)[Symbol.asyncIterator]()
}

function pod(name: string) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { containers: [] },
    status: { phase: 'Pending' as const },
  }
}

test('an object is created, read, listed, updated and deleted at the paths of Kubernetes', async () => {
  await using api = await startApi()
  const { client, server } = api
  const created = await client.create('apps/v1/deployments', deployment('web', 2))
  expect(created.metadata).toMatchObject({ ...WEB, generation: 1 })
  expect(await client.get('apps/v1/deployments', WEB)).toEqual(created)
  expect(await ask(`${server.url}${DEPLOYMENTS}/web`)).toEqual({ code: 200, body: created })

  const scaled = await client.update('apps/v1/deployments', {
    ...created,
    spec: { ...created.spec, replicas: 3 },
  })
  expect(scaled).toMatchObject({ metadata: { generation: 2 }, spec: { replicas: 3 } })
  const status = { observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 0 }
  const answer = await ask(`${server.url}${DEPLOYMENTS}/web/status`, {
    method: 'PUT',
    body: JSON.stringify({ ...scaled, spec: { replicas: 9 }, status }),
  })
  expect(answer).toMatchObject({ code: 200, body: { spec: { replicas: 3 }, status } })

  const { items, resourceVersion } = await client.list('apps/v1/deployments')
  expect(items).toEqual([answer.body])
  expect(resourceVersion).toBe(items[0]?.metadata.resourceVersion)
  const another = client.delete('apps/v1/deployments', WEB, { uid: 'another' })
  await expect(another).rejects.toMatchObject({ reason: 'Conflict' })
  await client.delete('apps/v1/deployments', WEB, { uid: created.metadata.uid })
  expect((await client.list('apps/v1/deployments')).items).toEqual([])
})

test('nodes are in no namespace, and a namespace lists only what is its own', async () => {
  await using api = await startApi()
  const { client, server } = api
  const made = await client.create('v1/nodes', node(1))
  expect(await ask(`${server.url}/api/v1/nodes/node-1`)).toEqual({ code: 200, body: made })
  await client.create('v1/services', service('web'))
  const listOf = async (path: string) => (await ask(server.url + path)).body
  expect(await listOf('/api/v1/services')).toMatchObject({ kind: 'ServiceList', items: [{ metadata: WEB }] })
  expect(await listOf('/api/v1/namespaces/default/services')).toMatchObject({ items: [{ metadata: WEB }] })
  expect(await listOf('/api/v1/namespaces/other/services')).toMatchObject({ items: [] })
})

test('refusals come back as what they are', async () => {
  await using api = await startApi()
  const { client } = api
  const created = await client.create('apps/v1/deployments', deployment('web', 2))
  await client.update('apps/v1/deployments', { ...created, spec: { ...created.spec, replicas: 3 } })
  const stale = client.update('apps/v1/deployments', created)
  await expect(stale).rejects.toMatchObject({ name: 'ApiError', reason: 'Conflict' })
  await expect(client.updateStatus('apps/v1/deployments', created)).rejects.toMatchObject({
    reason: 'Conflict',
  })
  await expect(client.create('apps/v1/deployments', deployment('web', 2))).rejects.toMatchObject({
    reason: 'AlreadyExists',
  })
  await expect(client.create('apps/v1/deployments', deployment('', 2))).rejects.toMatchObject({
    reason: 'Invalid',
  })
  const missing = { ...WEB, name: 'none' }
  await expect(client.get('v1/pods', missing)).rejects.toMatchObject({ reason: 'NotFound' })
  await expect(client.delete('v1/pods', missing)).rejects.toMatchObject({ reason: 'NotFound' })
})

test('a refusal has the Status object and the code of Kubernetes', async () => {
  await using api = await startApi()
  const { client, server } = api
  await client.create('apps/v1/deployments', deployment('web', 2))
  const body = JSON.stringify(deployment('web', 2))
  expect(await ask(server.url + DEPLOYMENTS, { method: 'POST', body })).toEqual({
    code: 409,
    body: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      reason: 'AlreadyExists',
      code: 409,
      message: 'apps/v1/deployments default/web already exists',
    },
  })
})

test.each([
  ['what is no JSON', '{"kind": '],
  ['what is no object', '[]'],
  ['nothing', ''],
  ['bytes that are no UTF-8', new Uint8Array([0x7b, 0xff, 0x7d])],
  ['metadata that are no object', JSON.stringify({ ...deployment('web', 2), metadata: 'web' })],
  ['another kind', JSON.stringify(service('web'))],
  ['a name that is no string', JSON.stringify({ ...deployment('web', 2), metadata: { name: 7 } })],
  ['another namespace', JSON.stringify({ ...deployment('web', 2), metadata: { name: 'a', namespace: 'b' } })],
])('a body with %s is answered with 400 and changes nothing', async (_, body) => {
  await using api = await startApi()
  const { store, server } = api
  expect(await ask(server.url + DEPLOYMENTS, { method: 'POST', body })).toMatchObject({
    code: 400,
    body: { kind: 'Status', reason: 'BadRequest' },
  })
  expect(store.list('apps/v1/deployments').items).toEqual([])
})

test.each([
  ['GET', '/api/v1/secrets', 404],
  ['GET', '/api/v1/pods/web', 404],
  ['GET', '/api/v1/namespaces/default/pods/web/log', 404],
  ['GET', '/apis/apps/v1/namespaces/%zz/deployments', 404],
  ['PATCH', `${DEPLOYMENTS}/web`, 405],
  ['DELETE', DEPLOYMENTS, 405],
  ['GET', '/api/v1/pods?watch=true', 400],
  ['GET', '/api/v1/pods?watch=true&resourceVersion=new', 400],
  ['DELETE', '/api/v1/namespaces/default/pods/web?gracePeriodSeconds=soon', 400],
])('%s %s is answered with %d', async (method, path, code) => {
  await using api = await startApi()
  expect(await ask(api.server.url + path, { method })).toMatchObject({ code, body: { kind: 'Status', code } })
})

test('a body that is too large is refused, and the next request is served', async () => {
  await using api = await startApi()
  const { client, server } = api
  const huge = { ...deployment('web', 2), more: 'x'.repeat(4 * 1024 * 1024) }
  const answer = await ask(server.url + DEPLOYMENTS, { method: 'POST', body: JSON.stringify(huge) })
  expect(answer).toMatchObject({ code: 413, body: { reason: 'RequestEntityTooLarge' } })
  expect(await client.create('apps/v1/deployments', deployment('web', 2))).toMatchObject({ metadata: WEB })
})

test('a watch tells in order of everything after its version', async () => {
  await using api = await startApi()
  const { client } = api
  const { resourceVersion } = await client.list('v1/pods')
  const created = await client.create('v1/pods', pod('web-1'))
  const events = pods(client, resourceVersion)
  expect(await nextOf(events)).toEqual({ type: 'ADDED', object: created })
  const bound = await client.update('v1/pods', { ...created, spec: { ...created.spec, nodeName: 'node-1' } })
  expect(await nextOf(events)).toEqual({ type: 'MODIFIED', object: bound })
  await client.delete('v1/pods', bound.metadata, { gracePeriodSeconds: 0 })
  expect(await nextOf(events)).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'web-1' } } })
})

test('a watch from a version that is no longer known is refused as expired', async () => {
  await using api = await startApi({}, 1)
  const { client } = api
  const { resourceVersion } = await client.list('v1/pods')
  for (const name of ['a', 'b', 'c', 'd']) await client.create('v1/pods', pod(name))
  await expect(pods(client, resourceVersion).next()).rejects.toMatchObject({
    name: 'ApiError',
    reason: 'Expired',
  })
})

test('who aborts a watch is rid of it, and so is the API server', async () => {
  await using api = await startApi()
  const { client, local } = api
  await client.create('v1/pods', pod('web-1'))
  const stop = new AbortController()
  const events = pods(client, '1000', stop.signal)
  await nextOf(events)
  const next = events.next()
  const reason = new Error('enough')
  stop.abort(reason)
  await expect(next).rejects.toBe(reason)
  expect(await local.ended).toBe(true)
})

test('who stops listening to a watch ends it', async () => {
  await using api = await startApi()
  const { client, local } = api
  await client.create('v1/pods', pod('web-1'))
  const { signal } = new AbortController()
  for await (const { type } of client.watch('v1/pods', '1000', signal)) {
    expect(type).toBe('ADDED')
    break
  }
  expect(await local.ended).toBe(true)
})

test('a watch whose API server goes away ends, and a request then fails with its address', async () => {
  const api = await startApi()
  const { client, server } = api
  await client.create('v1/pods', pod('web-1'))
  const events = pods(client, '1000')
  await nextOf(events)
  const next = events.next()
  await server[Symbol.asyncDispose]()
  expect(await next).toMatchObject({ done: true })
  await expect(client.list('v1/pods')).rejects.toThrow(`the API server at ${server.url} does not answer`)
})

test.each([
  ['every watch drops after an event', { watchDrops: 1 }, 1_000],
  ['every other watch is refused as expired', { watchExpires: 0.5 }, 1_000],
  ['hardly anything of the past is known', { watchDrops: 1 }, 1],
])('an informer knows everything although %s', async (_, faults, historyLength) => {
  await using api = await startApi(faults, historyLength)
  const { client, store } = api
  const stop = new AbortController()
  const informer = new Informer('v1/pods', { client, clock: REAL_CLOCK, signal: stop.signal })
  const names = Array.from({ length: 12 }, (_value, at) => `web-${at}`)
  const knowsAll = Promise.withResolvers<undefined>()
  informer.onChange(() => {
    const known = informer.all().map(({ metadata }) => metadata.name)
    if (names.slice(1).every((name) => known.includes(name)) && !known.includes('web-0')) {
      knowsAll.resolve(undefined)
    }
  })
  const running = informer.run()
  await informer.synced
  for (const name of names) await client.create('v1/pods', pod(name))
  await client.delete('v1/pods', { namespace: 'default', name: 'web-0' })
  await knowsAll.promise
  const byName = (one: object, other: object) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)
  expect(informer.all().sort(byName)).toEqual([...store.list('v1/pods').items].sort(byName))
  stop.abort()
  await running
})
