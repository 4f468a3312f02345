import type { IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, test } from '@jest/globals'
import { ProxyScene } from './support/proxy-scene.ts'

const WEB = '/apis/apps/v1/namespaces/shop/deployments/web'
const JSON_TYPE = { 'content-type': 'application/json' }
const JSON_PATCH = { 'content-type': 'application/json-patch+json' }
const APPLY = { 'content-type': 'application/apply-patch+yaml' }
const OF_BEFORE = {
  'causeway.io/cpid': '00000000-0000-4000-8000-000000000009',
  'causeway.io/ancestor-cpids': '',
  'causeway.io/write': '2222222222222222 1',
  'tracing.k8s.io/traceparent': '00-22222222222222222222222222222222-2222222222222222-01',
}

interface Got {
  method: string | undefined
  headers: IncomingHttpHeaders
  body: string
}

/** An API server that keeps what it gets, and answers with an object of such annotations. */
async function answering(annotations: object) {
  const got: Got[] = []
  const scene = await ProxyScene.open(async (request, response) => {
    const { method, headers } = request
    got.push({ method, headers, body: (await buffer(request)).toString() })
    const metadata = { name: 'web', uid: 'u1', resourceVersion: '7', annotations }
    // A number that JavaScript cannot hold.
    const body = `{"metadata":${JSON.stringify(metadata)},"spec":{"at":12345678901234567890}}`
    response
      .writeHead(method === 'POST' ? 201 : 200, { ...JSON_TYPE, 'content-length': body.length })
      .end(body)
  })
  return { scene, got }
}

test.each([
  ['a read', 'GET', ''],
  ['a write', 'PUT', ''],
  ['a trial of a write', 'PUT', '?dryRun=All'],
  ['a trial of a new object', 'POST', '?dryRun=All'],
])('the answer to %s does not show the change that the object carries', async (_, method, query) => {
  const { scene } = await answering({ ...OF_BEFORE, team: 'shop' })
  using open = scene
  const { body } = await open.send(method, `${WEB}${query}`, JSON_TYPE, method === 'GET' ? '' : '{}')
  expect(body.toString()).toBe(
    '{"metadata":{"name":"web","uid":"u1","resourceVersion":"7","annotations":{"team":"shop"}},"spec":{"at":12345678901234567890}}',
  )
})

test('an object without other annotations is shown as one that has none', async () => {
  const { scene } = await answering(OF_BEFORE)
  using open = scene
  const { body } = await open.send('GET', WEB, {}, '')
  expect((JSON.parse(body.toString()) as { metadata: object }).metadata).not.toHaveProperty('annotations')
})

test('what was applied with the change of an earlier command, as read without the proxy, is applied without it', async () => {
  const { scene, got } = await answering({})
  using open = scene
  const applied = (annotations: object): string => JSON.stringify({ metadata: { annotations }, spec: {} })
  await open.send('PATCH', WEB, APPLY, applied({ ...OF_BEFORE, team: 'shop' }))
  await open.send('PATCH', `${WEB}?dryRun=All`, APPLY, applied({ ...OF_BEFORE, team: 'shop' }))
  const sent = got.filter(({ headers }) => headers['content-type'] === APPLY['content-type'])
  expect(sent.map(({ body }) => body)).toEqual([applied({ team: 'shop' }), applied({ team: 'shop' })])
})

test('a program that applied such annotations itself, as it planned without the proxy, reads them as it wrote them', async () => {
  const { scene } = await answering({ 'causeway.io/cpid': 'of-now', team: 'shop' })
  using open = scene
  const body = JSON.stringify({ metadata: { annotations: OF_BEFORE } })
  const answers = [
    await open.send('PATCH', `${WEB}?dryRun=All`, APPLY, body),
    await open.send('PATCH', WEB, APPLY, body),
    await open.send('GET', WEB, {}, ''),
  ]
  const shown = answers.map(
    ({ body }) => JSON.parse(body.toString()) as { metadata: { annotations: object } },
  )
  for (const { metadata } of shown) expect(metadata.annotations).toEqual({ ...OF_BEFORE, team: 'shop' })
})

test('a patch that takes away the change of an earlier command leaves it', async () => {
  const { scene, got } = await answering({})
  using open = scene
  const replicas = { op: 'replace', path: '/spec/replicas', value: 3 }
  const taken = Object.keys(OF_BEFORE).map((key) => ({
    op: 'remove',
    path: `/metadata/annotations/${key.replace('/', '~1')}`,
  }))
  await open.send('PATCH', WEB, JSON_PATCH, JSON.stringify([...taken, replicas]))
  expect(JSON.parse(got.at(-1)?.body ?? '')).toEqual([replicas])
})

test('a program that shows a credential of its own is known by that', async () => {
  const { scene, got } = await answering({})
  using open = scene
  await open.send('GET', WEB, { authorization: 'Bearer of-its-own' }, '')
  await open.send('GET', WEB, {}, '')
  expect(got.map(({ headers }) => headers.authorization)).toEqual(['Bearer of-its-own', 'Bearer secret'])
})
