import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Authority } from '../../lab/harness/certificates.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { freePort } from '../../lab/harness/free-ports.ts'
import { startReceiver } from '../../src/receiver/k8s-admission/start-k8s-admission.ts'
import { postTls, type TlsAnswer } from './support/post-tls.ts'
import { SourceHost } from './support/source-host.ts'

const authority = new Authority()
const server = authority.issue()
const client = authority.issue({ name: 'kube-apiserver' })
const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-admission-'))
  for (const [name, text] of Object.entries({
    'cert.pem': server.cert,
    'key.pem': server.key,
    'ca.pem': authority.cert,
  }))
    writeFileSync(join(folder, name), text)
})
afterAll(() => rmSync(folder, { recursive: true }))

const review = (request: object = {}): string =>
  JSON.stringify({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      ...{ uid: 'r1', operation: 'CREATE', name: 'web', namespace: 'shop' },
      resource: { group: 'apps', version: 'v1', resource: 'deployments' },
      userInfo: { username: 'alice' },
      object: { kind: 'Deployment', apiVersion: 'apps/v1', metadata: { name: 'web', namespace: 'shop' } },
      ...request,
    },
  })
const ALLOWED = {
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: { uid: 'r1', allowed: true },
}

interface Webhook extends AsyncDisposable {
  readonly host: SourceHost
  post(body: string, as?: object): Promise<TlsAnswer>
}

async function startWebhook(): Promise<Webhook> {
  const host = new SourceHost()
  const port = await freePort()
  const tls = {
    ...{ certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem'), reloadIntervalMs: 0 },
    ...{ clientCaFile: join(folder, 'ca.pem'), minVersion: 'TLSv1.2' as const, cipherSuites: [], curves: [] },
  }
  const settings = { cluster: 'prod', host: '127.0.0.1', port, maxBytes: 65_536, tls }
  const started = { id: 'k8s_admission', type: 'k8s_admission', settings, signals: [], listeners: [] }
  const running = await startReceiver(started, host.of())
  const headers = { 'content-type': 'application/json', traceparent: TRACE }
  return {
    host,
    post: (body, as = { key: client.key, cert: client.cert }) =>
      postTls(body, { port, path: '/admit?timeout=1s', ca: authority.cert, headers, ...as }),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

const bodyOf = ({ status, body }: TlsAnswer): unknown => [status, JSON.parse(body)]

test('whatever is asked is allowed, and told with the trace in which it was asked', async () => {
  await using webhook = await startWebhook()
  expect(bodyOf(await webhook.post(review()))).toEqual([200, ALLOWED])
  const { store } = webhook.host
  await eventually(() => expect(store.told).toHaveLength(1))
  expect(store.tellings).toMatchObject([{ cluster: 'prod', stream: 'k8s_admission' }])
  expect(store.told).toMatchObject([
    {
      source: 'admission',
      object: { name: 'web' },
      request: { actor: { user: 'alice' }, traceparent: TRACE },
    },
  ])
})

test('an answer does not wait for the store, and what was not stored is told again', async () => {
  await using webhook = await startWebhook()
  const { store } = webhook.host
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const tell = store.tell.bind(store)
  store.tell = async (telling) => {
    await promise
    return await tell(telling)
  }
  store.outcomes.push({ kind: 'busy', retryAfterMs: 1, reason: 'full' }, { kind: 'failed', reason: 'disk' })
  for (let at = 0; at < 5; at++) expect(bodyOf(await webhook.post(review()))).toEqual([200, ALLOWED])
  expect(store.told).toEqual([])
  resolve(undefined)
  await eventually(() => expect(store.told).toHaveLength(5))
  expect(webhook.host.lost).toBe(0)
})

test('while memory is short everything is allowed, and counted as lost', async () => {
  await using webhook = await startWebhook()
  webhook.host.memory.isRefusing = true
  expect(bodyOf(await webhook.post(review()))).toEqual([200, ALLOWED])
  expect([webhook.host.store.told, webhook.host.lost]).toEqual([[], 1])
})

test('what is too large to look at is allowed', async () => {
  await using webhook = await startWebhook()
  expect(bodyOf(await webhook.post(review({ filler: 'x'.repeat(100_000) })))).toEqual([200, ALLOWED])
  expect(webhook.host.lost).toBe(1)
})

test('what cannot be read is allowed by its uid, else it is refused', async () => {
  await using webhook = await startWebhook()
  expect(bodyOf(await webhook.post(review().slice(0, -40)))).toEqual([200, ALLOWED])
  const elsewhere = JSON.stringify({ request: { operation: 'CREATE', uid: 'r1' } })
  expect(bodyOf(await webhook.post(elsewhere))).toEqual([200, ALLOWED])
  for (const none of ['', '{', '[]', '{"request":{}}', '{"request":{"uid":5}}'])
    expect((await webhook.post(none)).status).toBe(400)
  await eventually(() => expect(webhook.host.unreadable).toBe(6))
  expect(webhook.host.store.told).toEqual([])
})

test('a uid is taken where the API server writes it, and nowhere else', async () => {
  await using webhook = await startWebhook()
  const trap = `{"object":{"request":{"uid":"other"}},${review().slice(1)}`
  expect(bodyOf(await webhook.post(trap))).toEqual([200, ALLOWED])
})

test('what is not done in the end, or is no write, is not told', async () => {
  await using webhook = await startWebhook()
  await webhook.post(review({ dryRun: true }))
  await webhook.post(review({ operation: 'CONNECT' }))
  await eventually(() => expect(webhook.host.skipped).toEqual({ dry_run: 1, read: 1 }))
  expect(webhook.host.store.told).toEqual([])
})

test('who shows no certificate that is known is not heard', async () => {
  await using webhook = await startWebhook()
  await expect(webhook.post(review(), {})).rejects.toThrow()
})

test('while it stops it tells what it was asked, once', async () => {
  const webhook = await startWebhook()
  webhook.host.store.outcomes.push({ kind: 'failed', reason: 'disk' })
  await webhook.post(review())
  await webhook[Symbol.asyncDispose]()
  expect(webhook.host.store.told.length + webhook.host.lost).toBe(1)
})
