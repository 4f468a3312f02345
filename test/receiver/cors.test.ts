import { expect, test } from '@jest/globals'
import type { CorsSettings } from '../../src/model/connection-settings.ts'
import { JSON_TYPE, post, send } from '../../lab/harness/clients/http-sender.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startHttp } from './support/start-receivers.ts'

const page = 'https://app.example.com'

async function preflight(cors: CorsSettings, headers: Record<string, string>) {
  const port = new RecordingPort()
  await using receiver = await startHttp(port, { cors })
  const answer = await send(receiver.port, '/v1/traces', {
    method: 'OPTIONS',
    headers: { origin: page, 'access-control-request-method': 'POST', ...headers },
  })
  expect(answer).toMatchObject({ status: 204, body: Buffer.alloc(0) })
  expect(port.requests).toEqual([])
  return Object.fromEntries([...answer.headers].filter(([name]) => name.startsWith('access-control-')))
}

test('a preflight from an allowed origin is told what it may send', async () => {
  const cors = { allowedOrigins: [page], allowedHeaders: ['X-Team'], maxAgeSeconds: 600 }
  expect(await preflight(cors, { 'access-control-request-headers': 'content-type,x-team' })).toEqual({
    'access-control-allow-origin': page,
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': 'content-type, x-team',
    'access-control-max-age': '600',
  })
})

test.each([
  ['another origin', { allowedOrigins: ['https://other.example.com'] }, {}],
  ['no origins', { allowedOrigins: [] }, {}],
])('a preflight is told nothing: %s', async (_, cors, headers) => {
  expect(await preflight(cors, headers)).toEqual({})
})

test.each<[string, Record<string, string>]>([
  ['another header', { 'access-control-request-headers': 'x-team' }],
  ['another method', { 'access-control-request-method': 'PUT' }],
])('a preflight for %s is not granted', async (_, headers) => {
  const granted = await preflight({ allowedOrigins: [page] }, headers)
  expect(granted).not.toHaveProperty('access-control-allow-methods')
  expect(granted).not.toHaveProperty('access-control-allow-headers')
})

test('any header may be allowed', async () => {
  const cors = { allowedOrigins: [page], allowedHeaders: ['*'], maxAgeSeconds: 0 }
  const granted = await preflight(cors, { 'access-control-request-headers': 'x-anything' })
  expect(granted).toHaveProperty('access-control-allow-headers', 'x-anything')
  expect(granted).not.toHaveProperty('access-control-max-age')
})

test.each([
  ['*', page, '*'],
  ['https://*.example.com', page, page],
  ['HTTPS://*.EXAMPLE.COM', page, page],
  ['https://app.*', page, page],
  ['http://localhost:*', 'http://localhost:8080', 'http://localhost:8080'],
  ['https://*.example.com', 'https://example.com', null],
  ['https://*.example.com', 'https://app.example.com.evil.net', null],
  ['https://a*a.com', 'https://a.com', null],
])('origins %s and the page %s: %s', async (pattern, origin, allowed) => {
  await using receiver = await startHttp(new RecordingPort(), { cors: { allowedOrigins: [pattern] } })
  const { status, headers } = await post(receiver.port, '/v1/traces', { ...JSON_TYPE, origin }, '{}')
  expect(status).toBe(200)
  expect(headers.get('access-control-allow-origin')).toBe(allowed)
  expect(headers.get('access-control-allow-credentials')).toBe(allowed === origin ? 'true' : null)
  expect(headers.get('vary')).toBe('Origin')
})

test('errors carry the CORS headers too, and pages may read the headers exposed', async () => {
  const cors = { allowedOrigins: [page], exposedHeaders: ['Retry-After'] }
  const busy = new RecordingPort({ kind: 'busy', retryAfterMs: 1, reason: '' })
  await using receiver = await startHttp(busy, { cors })
  const { status, headers } = await post(receiver.port, '/v1/traces', { ...JSON_TYPE, origin: page }, '{}')
  expect(status).toBe(503)
  expect(headers.get('access-control-allow-origin')).toBe(page)
  expect(headers.get('access-control-expose-headers')).toBe('Retry-After')
})

test('without CORS settings no CORS header is sent', async () => {
  await using receiver = await startHttp(new RecordingPort())
  const { headers } = await post(receiver.port, '/v1/traces', { ...JSON_TYPE, origin: page }, '{}')
  expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
  expect(headers.has('vary')).toBe(false)
})
