import type { IncomingHttpHeaders } from 'node:http'
import { buffer, json } from 'node:stream/consumers'
import { expect, test } from '@jest/globals'
import { ProxyScene } from './support/proxy-scene.ts'

const PODS = '/api/v1/namespaces/shop/pods'
const JSON_TYPE = { 'content-type': 'application/json' }

interface Got {
  method: string | undefined
  url: string | undefined
  headers: IncomingHttpHeaders
  body: string
}

/** An API server that keeps what it gets. */
async function keeping() {
  const got: Got[] = []
  const scene = await ProxyScene.open(async (request, response) => {
    const { method, url, headers } = request
    got.push({ method, url, headers, body: (await buffer(request)).toString() })
    response.end('{"metadata":{"name":"web","uid":"u1","resourceVersion":"7"}}')
  })
  return { scene, got }
}

test('a deletion of many, whose body comes in pieces, is handed on with that body', async () => {
  const { scene, got } = await keeping()
  using open = scene
  const body = JSON.stringify({ kind: 'DeleteOptions', dryRun: ['All'] })
  const chunked = { ...JSON_TYPE, 'transfer-encoding': 'chunked' }
  expect((await open.send('DELETE', PODS, chunked, body)).status).toBe(200)
  expect((await open.send('DELETE', PODS, JSON_TYPE, body)).status).toBe(200)
  expect(got.map(({ method, url, body: came }) => [method, url, came])).toEqual([
    ['DELETE', PODS, body],
    ['DELETE', PODS, body],
  ])
})

test('a selector may be as long as API servers take it', async () => {
  const { scene, got } = await keeping()
  using open = scene
  const selector = `app in (${Array.from({ length: 20_000 }, (_, at) => `app-${at}`).join()})`
  const path = `${PODS}?labelSelector=${encodeURIComponent(selector)}`
  expect((await open.send('GET', path, {}, '')).status).toBe(200)
  expect(got.map(({ url }) => url)).toEqual([path])
})

test('a client that offers HTTP/2 writes as any other', async () => {
  const { scene, got } = await keeping()
  using open = scene
  const offered = {
    connection: 'Upgrade, HTTP2-Settings',
    upgrade: 'h2c',
    'http2-settings': 'AAMAAABkAAQAoAAA',
  }
  const { status } = await open.send('POST', PODS, { ...JSON_TYPE, ...offered }, '{"spec":{}}')
  expect(status).toBe(200)
  const [{ headers, body } = { headers: {}, body: '{}' }, ...more] = got
  expect(more).toEqual([])
  expect(JSON.parse(body)).toMatchObject({
    spec: {},
    metadata: { annotations: { 'causeway.io/cpid': open.change.cpid } },
  })
  expect(headers).not.toHaveProperty('upgrade')
  expect(headers).not.toHaveProperty('http2-settings')
})

test.each(['/api/v1/watch/pods', '/apis/apps/v1/watch/deployments'])(
  'the older form of a watch is handed on as it comes: %s',
  async (path) => {
    using scene = await ProxyScene.open(
      (_, response) => void response.writeHead(200).write('{"type":"ADDED"}'),
    )
    const { asked, answer } = scene.ask('GET', path)
    asked.end()
    const got = await answer
    const { promise, resolve } = Promise.withResolvers<string>()
    got.once('data', (piece: Buffer) => resolve(piece.toString()))
    expect(await promise).toBe('{"type":"ADDED"}')
    asked.destroy()
  },
)

/** As API servers count them. */
const MOST_ANNOTATIONS = 262_144

test('what is only too long for its annotations with the change is written without it', async () => {
  const sizes: number[] = []
  using scene = await ProxyScene.open(async (request, response) => {
    const object = (await json(request).catch(() => ({}))) as {
      metadata?: { annotations?: Record<string, string> }
    }
    const size = Object.entries(object.metadata?.annotations ?? {}).reduce(
      (sum, entry) => sum + entry.join('').length,
      0,
    )
    sizes.push(size)
    const isTooLong = size > MOST_ANNOTATIONS
    const message =
      'ConfigMap "big" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes'
    response.writeHead(isTooLong ? 422 : 201, JSON_TYPE)
    response.end(JSON.stringify(isTooLong ? { kind: 'Status', reason: 'Invalid', message } : object))
  })
  const full = { a: 'x'.repeat(MOST_ANNOTATIONS - 1) }
  const body = JSON.stringify({ metadata: { name: 'big', annotations: full } })
  const { status } = await scene.send('POST', '/api/v1/namespaces/shop/configmaps', JSON_TYPE, body)
  expect(status).toBe(201)
  expect(sizes).toHaveLength(2)
  expect(sizes[1]).toBe(MOST_ANNOTATIONS)
})
