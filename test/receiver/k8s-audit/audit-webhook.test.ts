import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { Authority } from '../../../lab/harness/certificates.ts'
import { freePort } from '../../../lab/harness/free-ports.ts'
import { openBearerAuthenticator } from '../../../src/platform/credentials.ts'
import type { AuditWebhookConfig } from '../../../src/receiver/k8s-audit/k8s-audit-receiver.ts'
import { startReceiver } from '../../../src/receiver/k8s-audit/start-k8s-audit.ts'
import { postTls, type TlsAnswer } from '../support/post-tls.ts'
import { SourceHost } from '../support/source-host.ts'
import { auditLine } from './support/audit-log.ts'

const authority = new Authority()
const server = authority.issue()
const client = authority.issue({ name: 'kube-apiserver' })
const JSON_TYPE = { 'content-type': 'application/json' }
let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'causeway-audit-webhook-'))
  for (const [name, text] of [
    ['cert.pem', server.cert],
    ['key.pem', server.key],
    ['ca.pem', authority.cert],
  ] as const)
    writeFileSync(join(folder, name), text)
})
afterAll(() => rmSync(folder, { recursive: true }))

const listOf = (...ids: string[]): string =>
  JSON.stringify({
    kind: 'EventList',
    apiVersion: 'audit.k8s.io/v1',
    items: ids.map((id) => JSON.parse(auditLine(id)) as object),
  })

interface Webhook extends AsyncDisposable {
  readonly host: SourceHost
  post(body: string | Buffer, headers?: Record<string, string>, as?: object): Promise<TlsAnswer>
}

async function startWebhook(
  change: Partial<AuditWebhookConfig> = {},
  authenticator?: Parameters<SourceHost['of']>[1],
): Promise<Webhook> {
  const host = new SourceHost()
  const port = await freePort()
  const tls = {
    ...{ certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem'), reloadIntervalMs: 0 },
    ...{ clientCaFile: join(folder, 'ca.pem'), minVersion: 'TLSv1.2' as const, cipherSuites: [], curves: [] },
  }
  const webhook = { host: '127.0.0.1', port, maxBytes: 65_536, tls, ...change }
  const started = {
    id: 'k8s_audit/test',
    type: 'k8s_audit',
    settings: { cluster: 'prod', webhook },
    signals: [],
    listeners: [],
  }
  const running = await startReceiver(started, host.of({}, authenticator))
  return {
    host,
    post: (body, headers = {}, as = { key: client.key, cert: client.cert }) =>
      postTls(body, {
        port,
        path: '/audit',
        ca: authority.cert,
        headers: { ...JSON_TYPE, ...headers },
        ...as,
      }),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}

test('a list of events is answered once it is stored', async () => {
  await using webhook = await startWebhook()
  const { host } = webhook
  expect(await webhook.post(listOf('a', 'b'))).toMatchObject({ status: 200, body: '{}' })
  expect(host.store.tellings).toMatchObject([{ cluster: 'prod', stream: 'k8s_audit/test webhook' }])
  expect(host.store.told).toMatchObject([{ request: { auditId: 'a' } }, { request: { auditId: 'b' } }])
  expect(host.told).toBe(2)
})

test('a list may be compressed, and longer than what is told at a time', async () => {
  await using webhook = await startWebhook({ maxBytes: 1_000_000 })
  const ids = Array.from({ length: 450 }, (_, at) => `e${at}`)
  const answer = await webhook.post(gzipSync(listOf(...ids)), { 'content-encoding': 'gzip' })
  expect(answer.status).toBe(200)
  expect(webhook.host.store.told.map((one) => one.source === 'audit' && one.request.auditId)).toEqual(ids)
  expect(webhook.host.store.tellings).toHaveLength(3)
})

test('deletions of collections are told in parts, however many objects a list of events has', async () => {
  const collection = (id: string, size: number): object =>
    JSON.parse(
      auditLine(id, {
        verb: 'deletecollection',
        responseObject: {
          kind: 'PodList',
          items: Array.from({ length: size }, (_, at) => ({
            metadata: { name: `${id}-${at}`, uid: `${id} ${at}` },
          })),
        },
      }),
    ) as object
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 12 }),
      async (sizes) => {
        await using webhook = await startWebhook({ maxBytes: 10_000_000 })
        const items = sizes.map((size, at) => collection(`e${at}`, size))
        const body = JSON.stringify({ kind: 'EventList', apiVersion: 'audit.k8s.io/v1', items })
        expect(await webhook.post(body)).toMatchObject({ status: 200 })
        const { store } = webhook.host
        expect(store.told).toHaveLength(sizes.reduce((sum, size) => sum + size, 0))
        for (const { observations } of store.tellings) expect(observations.length).toBeLessThan(1_000 + 900)
      },
    ),
    { numRuns: 6 },
  )
})

test('while too much waits the API server is told when to come again, and a fault is one', async () => {
  await using webhook = await startWebhook()
  const { store } = webhook.host
  store.outcomes.push(
    { kind: 'busy', retryAfterMs: 1_500, reason: 'too much waits' },
    { kind: 'failed', reason: 'disk full' },
  )
  expect(await webhook.post(listOf('a'))).toMatchObject({ status: 429, headers: { 'retry-after': '2' } })
  expect(await webhook.post(listOf('a'))).toMatchObject({ status: 503, body: 'disk full\n' })
  expect(await webhook.post(listOf('a'))).toMatchObject({ status: 200 })
  expect([store.told.length, webhook.host.told]).toEqual([1, 1])
})

test('while memory is short nothing is read', async () => {
  await using webhook = await startWebhook()
  webhook.host.memory.isRefusing = true
  expect(await webhook.post(listOf('a'))).toMatchObject({ status: 429, headers: { 'retry-after': '1' } })
  expect(webhook.host.store.told).toEqual([])
})

test('an event that is none is passed over and counted; the others are stored', async () => {
  await using webhook = await startWebhook()
  const list = {
    kind: 'EventList',
    apiVersion: 'audit.k8s.io/v1',
    items: [5, null, JSON.parse(auditLine('a'))],
  }
  expect(await webhook.post(JSON.stringify(list))).toMatchObject({ status: 200 })
  expect([webhook.host.store.told.length, webhook.host.unreadable]).toEqual([1, 2])
})

test.each<[string, string, Record<string, string>, number]>([
  ['no JSON', '{"kind":', {}, 400],
  ['something else', '{"kind":"PodList","apiVersion":"v1","items":[]}', {}, 400],
  ['what is too long', listOf('a') + ' '.repeat(70_000), {}, 413],
  ['what is not compressed as it says', 'plain', { 'content-encoding': 'gzip' }, 400],
  ['another type', listOf('a'), { 'content-type': 'text/plain' }, 415],
])('%s is refused for good', async (_, body, headers, status) => {
  await using webhook = await startWebhook()
  expect((await webhook.post(body, headers)).status).toBe(status)
  expect(webhook.host.store.told).toEqual([])
})

test('a review without a known client certificate is not recorded', async () => {
  await using webhook = await startWebhook()
  await expect(webhook.post(listOf('a'), {}, {})).rejects.toThrow()
  const stranger = new Authority('a stranger').issue()
  await expect(webhook.post(listOf('a'), {}, stranger)).rejects.toThrow()
  expect(webhook.host.store.told).toEqual([])
})

test('who shows no token that is known is turned away', async () => {
  const tokens = openBearerAuthenticator({
    ...{ id: 'bearertokenauth', header: 'Authorization', scheme: 'Bearer', tokens: ['right'] },
    ...{ reloadIntervalMs: 0, onTrouble: () => undefined },
  })
  await using webhook = await startWebhook({ auth: 'bearertokenauth' }, tokens)
  const refused = await webhook.post(listOf('a'), { authorization: 'Bearer wrong' })
  expect(refused).toMatchObject({
    status: 401,
    headers: { 'www-authenticate': expect.stringContaining('Bearer') },
  })
  expect(webhook.host.turnedAway).toHaveLength(1)
  expect((await webhook.post(listOf('a'), { authorization: 'Bearer right' })).status).toBe(200)
  expect(webhook.host.store.told).toHaveLength(1)
})

test('what is being stored when Causeway stops is told to come again', async () => {
  const webhook = await startWebhook()
  webhook.host.store.record = () => new Promise(() => undefined)
  const answer = webhook.post(listOf('a'))
  await new Promise((resolve) => setImmediate(resolve))
  const [answered] = await Promise.all([
    answer.catch(() => ({ status: 503 })),
    webhook[Symbol.asyncDispose](),
  ])
  expect(answered.status).toBe(503)
})

test('an event whose object is nested deep keeps none beside it from being stored', async () => {
  await using webhook = await startWebhook({ maxBytes: 1_048_576 })
  const deep = `${'{"a":'.repeat(9_990)}1${'}'.repeat(9_990)}`
  const [first, second, third] = ['a', 'b', 'c'].map((id) => auditLine(id).trim())
  const poisoned = second?.replace(/"responseObject":\{/, `"responseObject":{"spec":${deep},`)
  expect(poisoned).not.toBe(second)
  const list = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[${first},${poisoned},${third}]}`
  expect(await webhook.post(list)).toMatchObject({ status: 200 })
  expect(webhook.host.store.tellings.flatMap(({ observations }) => observations)).toHaveLength(3)
})

test.each([
  ['values than its length allows', '{},'.repeat(250_000), 'values'],
  ['events than its length allows', '{"stage":"RequestReceived"},'.repeat(15_000), 'events'],
])('a list with more %s is refused, with their number and before it is told', async (_, items, what) => {
  await using webhook = await startWebhook({ maxBytes: 2_000_000 })
  const list = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[${items}{}]}`
  const { status, body } = await webhook.post(list)
  expect(status).toBe(400)
  expect(body).toMatch(
    new RegExp(`\\d+ ${what}.* are taken; (?:send fewer in one|lower --audit-webhook-batch-max-size)`),
  )
  expect(webhook.host.store.tellings).toEqual([])
})
