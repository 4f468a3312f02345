import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { Authority } from '../../lab/harness/certificates.ts'
import { openBasicAuthenticator } from '../../src/platform/basic-auth.ts'
import { openBearerAuthenticator } from '../../src/platform/credentials.ts'
import { type QueryServerSettings, startQueryServer } from '../../src/query/http/query-server.ts'
import type { QueryService } from '../../src/query/question.ts'
import { ABOUT } from './support/query-api.ts'

interface Answer {
  status: number
  headers: IncomingMessage['headers']
  code: string | undefined
}

/** Counts the questions that get through. */
class CountingQueries implements QueryService {
  asked = 0
  ask(): Promise<{ kind: 'unknown' }> {
    this.asked++
    return Promise.resolve({ kind: 'unknown' })
  }
}

async function starting(settings: Partial<QueryServerSettings> = {}) {
  const queries = new CountingQueries()
  const server = await startQueryServer({ host: '127.0.0.1', port: 0, queries, about: ABOUT, ...settings })
  const ask = (headers: Record<string, string>, options: RequestOptions = {}): Promise<Answer> =>
    answerOf(server.port, headers, options, settings.tls !== undefined)
  return { queries, ask, port: server.port, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

async function answerOf(
  port: number,
  headers: Record<string, string>,
  options: RequestOptions,
  secure: boolean,
): Promise<Answer> {
  const path = '/api/v1/spans'
  const send = secure ? httpsRequest : httpRequest
  const sent = send({ host: 'localhost', family: 4, port, path, agent: false, headers, ...options })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  const isJson = response.headers['content-type'] === 'application/json'
  const body = text === '' || !isJson ? undefined : (JSON.parse(text) as { error?: { code: string } })
  return { status: response.statusCode ?? 0, headers: response.headers, code: body?.error?.code }
}

const LINK = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
const LET_IN = { status: 404, code: 'unknown_cpid' }

describe('a name of somebody else’s (DNS rebinding)', () => {
  test.each(['attacker.example', 'attacker.example:4319', 'localhost.attacker.example', '127.0.0.1.nip.io'])(
    'such as "%s" gets nothing from a server on this machine',
    async (host) => {
      await using api = await starting()
      expect(await api.ask({ host })).toMatchObject({ status: 403, code: 'unknown_host' })
      expect(api.queries.asked).toBe(0)
    },
  )

  test.each(['localhost', 'LOCALHOST:4319', '127.0.0.1', '[::1]:4319', '192.0.2.7:80'])(
    'is not one such as %s',
    async (host) => {
      await using api = await starting()
      expect(await api.ask({ host })).toMatchObject(LET_IN)
    },
  )

  test('may be listed', async () => {
    await using api = await starting({ allowedHosts: ['*.observability.svc'] })
    expect(await api.ask({ host: 'causeway.observability.svc:4319' })).toMatchObject(LET_IN)
    expect(await api.ask({ host: 'attacker.example' })).toMatchObject({ code: 'unknown_host' })
  })

  test('is let through where others are to call it too, unless names are listed', async () => {
    await using open = await starting({ host: '' })
    expect(await open.ask({ host: 'causeway.example' })).toMatchObject(LET_IN)
    await using listed = await starting({ host: '', allowedHosts: ['causeway.example'] })
    expect(await listed.ask({ host: 'causeway.example' })).toMatchObject(LET_IN)
    expect(await listed.ask({ host: 'attacker.example' })).toMatchObject({ code: 'unknown_host' })
  })
})

describe('pages of other origins', () => {
  test.each<[string, Record<string, string>]>([
    ['that fetch', { origin: 'https://attacker.example' }],
    ['that hide where they are', { origin: 'null' }],
    ['on another port of this machine', { origin: 'http://localhost:1' }],
    ['that load it as a script', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }],
    ['of the same site', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }],
  ])('%s get nothing', async (_, headers) => {
    await using api = await starting()
    const answer = await api.ask(headers)
    expect(answer).toMatchObject({ status: 403, code: 'cross_site' })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
    expect(api.queries.asked).toBe(0)
  })

  test.each(['/', '/cascades', '/assets/page.js'])('may lead to %s by a link', async (path) => {
    await using api = await starting()
    const answer = await api.ask(LINK, { path })
    expect(answer).not.toMatchObject({ code: 'cross_site' })
  })

  test.each([
    '/api/v1/spans',
    '/api/search?q=%7B%7D',
    '/jaeger/api/traces',
    '/tempo/api/search',
    '/x/../api/v1/spans',
    '/tempo',
  ])('may not lead to %s, which somebody has to write into the browser', async (path) => {
    await using api = await starting()
    expect(await api.ask(LINK, { path })).toMatchObject({ status: 403, code: 'cross_site' })
    expect(await api.ask({ ...LINK, 'sec-fetch-site': 'same-site' }, { path })).toMatchObject({ status: 403 })
    expect(api.queries.asked).toBe(0)
    const written = { ...LINK, 'sec-fetch-site': 'none' }
    expect(await api.ask(written, { path })).not.toMatchObject({ code: 'cross_site' })
  })

  test.each(['iframe', 'frame', 'embed', 'object', 'fencedframe'])(
    'may show nothing in an %s, whoever they are',
    async (destination) => {
      await using api = await starting({ cors: { allowedOrigins: ['*'] } })
      for (const path of ['/', '/api/v1/spans'])
        for (const site of ['cross-site', 'same-origin', 'none']) {
          const headers = { ...LINK, 'sec-fetch-site': site, 'sec-fetch-dest': destination }
          const answer = await api.ask(headers, { path })
          expect(answer).toMatchObject({ status: 403, code: 'cross_site' })
          expect(answer.headers).toMatchObject({ 'x-frame-options': 'DENY' })
          expect(answer.headers['content-security-policy']).toContain("frame-ancestors 'none'")
        }
      expect(api.queries.asked).toBe(0)
    },
  )

  test('are not the own page, which may ask', async () => {
    await using api = await starting()
    const own = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }
    expect(await api.ask(own)).toMatchObject(LET_IN)
    expect(await api.ask({ ...LINK, 'sec-fetch-site': 'same-origin' })).toMatchObject(LET_IN)
    expect(await api.ask({ origin: `http://localhost:${api.port}` })).toMatchObject(LET_IN)
  })

  test('may ask when they are listed, and only they', async () => {
    await using api = await starting({ cors: { allowedOrigins: ['https://*.example'] } })
    const allowed = await api.ask({ origin: 'https://grafana.example', 'sec-fetch-site': 'cross-site' })
    expect(allowed).toMatchObject(LET_IN)
    expect(allowed.headers['access-control-allow-origin']).toBe('https://grafana.example')
    expect(await api.ask({ origin: 'https://attacker.test' })).toMatchObject({ code: 'cross_site' })
    const preflight = { origin: 'https://grafana.example', 'access-control-request-method': 'GET' }
    const asked = await api.ask(preflight, { method: 'OPTIONS' })
    expect(asked).toMatchObject({ status: 204 })
    expect(asked.headers['access-control-allow-methods']).toBe('GET')
  })

  test('can neither embed an answer nor have its type guessed', async () => {
    await using api = await starting()
    expect((await api.ask({})).headers).toMatchObject({
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'content-type': 'application/json',
    })
  })
})

test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
  '%s changes nothing, so it cannot be forged',
  async (method) => {
    await using api = await starting()
    expect(await api.ask({}, { method })).toMatchObject({ status: 405, code: 'method_not_allowed' })
    expect(api.queries.asked).toBe(0)
  },
)

describe('credentials', () => {
  const common = { reloadIntervalMs: 0, onTrouble: () => undefined }
  const tokens = () =>
    openBearerAuthenticator({
      ...common,
      id: 'a',
      header: 'Authorization',
      scheme: 'Bearer',
      tokens: ['right'],
    })

  test('a token is asked for', async () => {
    const turnedAway: string[] = []
    await using api = await starting({
      authenticator: tokens(),
      onTurnedAway: (reason) => turnedAway.push(reason),
    })
    expect(await api.ask({ authorization: 'Bearer right' })).toMatchObject(LET_IN)
    for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
      const refused = await api.ask(headers)
      expect(refused).toMatchObject({ status: 401, code: 'unauthenticated' })
      expect(refused.headers['www-authenticate']).toBe('Bearer')
    }
    expect(api.queries.asked).toBe(1)
    expect(turnedAway).toHaveLength(2)
  })

  test('a browser is told to ask for user and password', async () => {
    await using api = await starting({
      authenticator: openBasicAuthenticator({ ...common, id: 'a', inline: 'alice:word' }),
    })
    const authorization = `Basic ${Buffer.from('alice:word').toString('base64')}`
    expect((await api.ask({})).headers['www-authenticate']).toMatch(/^Basic realm=/)
    expect(await api.ask({ authorization })).toMatchObject(LET_IN)
  })

  test('over TLS, with a certificate where one is asked for', async () => {
    const authority = new Authority()
    const [server, client] = [authority.issue(), authority.issue({ name: 'an operator' })]
    const folder = mkdtempSync(join(tmpdir(), 'causeway-gate-'))
    const clientCaFile = join(folder, 'ca.pem')
    writeFileSync(clientCaFile, authority.cert)
    await using api = await starting({ tls: { certPem: server.cert, keyPem: server.key, clientCaFile } })
    expect(await api.ask({}, { ca: authority.cert, ...client })).toMatchObject(LET_IN)
    await expect(api.ask({}, { ca: authority.cert })).rejects.toThrow()
    rmSync(folder, { recursive: true })
  })
})

test('where a credential is asked for, those that ask for nothing keep nobody of their address out', async () => {
  const dropped: string[] = []
  const settings = {
    connections: { max: 2, maxPerAddress: 1 },
    onDrop: (reason: string) => void dropped.push(reason),
  }
  const authenticator = openBearerAuthenticator({
    id: 'bearertokenauth',
    header: 'Authorization',
    scheme: 'Bearer',
    tokens: ['token'],
    reloadIntervalMs: 0,
    onTrouble: () => undefined,
  })
  await using server = await starting({ ...settings, authenticator })
  const sockets = Array.from({ length: 8 }, () => connect(server.port, '127.0.0.1').resume())
  await Promise.race(sockets.map((socket) => once(socket, 'close')))
  const asked = await fetch(`http://127.0.0.1:${server.port}/api/v1/about`, {
    headers: { authorization: 'Bearer token' },
  })
  expect(asked.status).not.toBe(503)
  expect(dropped.every((reason) => reason === 'limit')).toBe(true)
  expect(dropped.length).toBeGreaterThanOrEqual(4)
  for (const socket of sockets) socket.destroy()
})
