import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Authority } from '../../lab/harness/certificates.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { freePort } from '../../lab/harness/free-ports.ts'
import type { Authenticator, Checked } from '../../src/platform/credentials.ts'
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
  readonly port: number
  readonly host: SourceHost
  post(body: string, as?: object): Promise<TlsAnswer>
}

async function startWebhook(authenticator?: Authenticator, maxBytes = 65_536): Promise<Webhook> {
  const host = new SourceHost()
  const port = await freePort()
  const tls = {
    ...{ certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem'), reloadIntervalMs: 0 },
    ...{ clientCaFile: join(folder, 'ca.pem'), minVersion: 'TLSv1.2' as const, cipherSuites: [], curves: [] },
  }
  const settings = {
    cluster: 'prod',
    host: '127.0.0.1',
    port,
    maxBytes,
    tls,
    ...(authenticator && { auth: 'logins' }),
  }
  const started = { id: 'k8s_admission', type: 'k8s_admission', settings, signals: [], listeners: [] }
  const running = await startReceiver(started, host.of({}, authenticator))
  const headers = { 'content-type': 'application/json', traceparent: TRACE }
  return {
    host,
    port,
    post: (body, as = { key: client.key, cert: client.cert }) =>
      postTls(body, { port, path: '/admit?timeout=1s', ca: authority.cert, headers, ...as }),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

const bodyOf = ({ status, body }: TlsAnswer): unknown => [status, JSON.parse(body)]

test('every review is allowed, and recorded with its trace context', async () => {
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
  const tell = store.record.bind(store)
  store.record = async (telling) => {
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
  await eventually(() => expect(webhook.host.lost).toBe(1))
  expect(webhook.host.store.told).toEqual([])
})

test('what is too large to look at is allowed', async () => {
  await using webhook = await startWebhook()
  expect(bodyOf(await webhook.post(review({ filler: 'x'.repeat(100_000) })))).toEqual([200, ALLOWED])
  await eventually(() => expect(webhook.host.lost).toBe(1))
})

test('a review that cannot be read is allowed if its uid can be found, else it is answered with an error', async () => {
  await using webhook = await startWebhook()
  expect(bodyOf(await webhook.post(review().slice(0, -40)))).toEqual([200, ALLOWED])
  const elsewhere = JSON.stringify({ request: { operation: 'CREATE', uid: 'r1' } })
  expect(bodyOf(await webhook.post(elsewhere))).toEqual([200, ALLOWED])
  for (const none of ['', '{', '[]', '{"request":{}}', '{"request":{"uid":5}}'])
    expect((await webhook.post(none)).status).toBe(400)
  await eventually(() => expect(webhook.host.unreadable).toBe(6))
  expect(webhook.host.store.told).toEqual([])
})

test('the answering of others does not wait until a large review is read for its uid', async () => {
  await using webhook = await startWebhook(undefined, 8_388_608)
  const [most, more] = [60_000, 70_000].map((length) =>
    JSON.stringify({ request: { filler: 'x'.repeat(length), uid: 'r1' } }),
  )
  expect(bodyOf(await webhook.post(most ?? ''))).toEqual([200, ALLOWED])
  expect((await webhook.post(more ?? '')).status).toBe(400)
  expect(bodyOf(await webhook.post(review({ filler: 'x'.repeat(300_000) })))).toEqual([200, ALLOWED])
})

test('a uid is taken where the API server writes it, and nowhere else', async () => {
  await using webhook = await startWebhook()
  const trap = `{"object":{"request":{"uid":"other"}},${review().slice(1)}`
  expect(bodyOf(await webhook.post(trap))).toEqual([200, ALLOWED])
})

test('a uid of any letters is answered with the same', async () => {
  await using webhook = await startWebhook()
  for (const uid of ['ünï-1', '😀', '"\\', '\u0000', 'r'.repeat(129)])
    expect(bodyOf(await webhook.post(review({ uid })))).toEqual([
      200,
      { ...ALLOWED, response: { uid, allowed: true } },
    ])
})

test('a dry run, and a review that is no write, are not recorded', async () => {
  await using webhook = await startWebhook()
  await webhook.post(review({ dryRun: true }))
  await webhook.post(review({ operation: 'CONNECT' }))
  await eventually(() => expect(webhook.host.skipped).toEqual({ dry_run: 1, read: 1 }))
  expect(webhook.host.store.told).toEqual([])
})

test('a review without a known client certificate is not recorded', async () => {
  await using webhook = await startWebhook()
  await expect(webhook.post(review(), {})).rejects.toThrow()
})

test('while the webhook stops it records the reviews that it has, once', async () => {
  const webhook = await startWebhook()
  webhook.host.store.outcomes.push({ kind: 'failed', reason: 'disk' })
  await webhook.post(review())
  await webhook[Symbol.asyncDispose]()
  expect(webhook.host.store.told.length + webhook.host.lost).toBe(1)
})

/** A program that posts what it reads and prints the answer. */
const POSTS = `
  import { readFileSync } from 'node:fs'
  import { request } from 'node:https'
  const [, port, ca, key, cert] = process.argv
  const headers = { 'content-type': 'application/json' }
  const options = { host: 'localhost', family: 4, port, method: 'POST', ca, key, cert, headers, timeout: 60_000 }
  const sent = request(options, (answer) => answer.pipe(process.stdout))
  sent.on('timeout', () => sent.destroy(new Error('no answer')))
  sent.end(readFileSync(0))`

test('an answer does not wait for anything else that the process does', async () => {
  await using webhook = await startWebhook()
  const args = ['--input-type=module', '-e', POSTS, String(webhook.port), authority.cert]
  // This thread does nothing else until the other program has ended.
  const answer = execFileSync(process.execPath, [...args, client.key, client.cert], { input: review() })
  expect(JSON.parse(answer.toString())).toEqual(ALLOWED)
  await eventually(() => expect(webhook.host.store.told).toHaveLength(1))
})

/** Says what a credential is worth when the test does. */
class SlowLogins implements Authenticator {
  readonly header = 'authorization'
  readonly challenge = 'Basic'
  readonly asked: (string | undefined)[] = []
  readonly worth = Promise.withResolvers<Checked>()

  check(value: string | undefined): Promise<Checked> {
    this.asked.push(value)
    return this.worth.promise
  }

  [Symbol.dispose](): void {
    this.asked.length = 0
  }
}

test.each<[Checked, object]>([
  [
    { kind: 'known', sender: {} },
    { told: 1, turnedAway: [], lost: 0 },
  ],
  [
    { kind: 'unknown', reason: 'who is this?' },
    { told: 0, turnedAway: ['who is this?'], lost: 0 },
  ],
  [
    { kind: 'busy', retryAfterMs: 1, reason: 'later' },
    { told: 0, turnedAway: [], lost: 1 },
  ],
])(
  'an answer does not wait for credentials to be checked; what was asked is told once they are: %j',
  async (worth, outcome) => {
    const logins = new SlowLogins()
    await using webhook = await startWebhook(logins)
    expect(bodyOf(await webhook.post(review()))).toEqual([200, ALLOWED])
    // The answer comes from another thread than the question what a credential is worth.
    await eventually(() => expect(logins.asked).toEqual([undefined]))
    expect(webhook.host.store.told).toEqual([])
    logins.worth.resolve(worth)
    const { host } = webhook
    const seen = (): object => ({
      told: host.store.told.length,
      turnedAway: host.turnedAway,
      lost: host.lost,
    })
    await eventually(() => expect(seen()).toEqual(outcome))
  },
)
