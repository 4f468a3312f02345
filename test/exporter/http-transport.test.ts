import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import { freePort } from '../../lab/harness/free-ports.ts'
import { startHttpBackend } from '../../lab/harness/sinks/http-backend.ts'
import { startRawBackend } from '../../lab/harness/sinks/raw-backend.ts'
import { type HttpTransportSettings, openHttpTransport } from '../../src/exporter/otlp-http/http-transport.ts'
import type { Transport } from '../../src/model/outbox.ts'
import { going, httpSettings, REQUEST } from './transport-settings.ts'

const clock = { wallMs: () => Date.UTC(2026, 0, 1) }
const open = (url: string, changes: Partial<HttpTransportSettings> = {}): Transport =>
  openHttpTransport(httpSettings(url, changes), clock)

test('posts protobuf with the headers and the user agent, over one connection', async () => {
  await using backend = await startHttpBackend((response) => response.end())
  await using transport = open(backend.url, {
    headers: { 'X-Scope-OrgID': 'team', 'Content-Type': 'text/plain' },
  })
  for (let i = 0; i < 2; i += 1) {
    expect(await transport.send(REQUEST, going())).toEqual({ kind: 'delivered', refused: 0, message: '' })
  }
  const [first, second] = backend.requests
  expect(first).toMatchObject({ url: '/v1/traces', body: Buffer.from(REQUEST) })
  expect(first?.headers).toMatchObject({
    'content-type': 'application/x-protobuf',
    'user-agent': 'causeway/0.1.0',
    'x-scope-orgid': 'team',
  })
  expect(first?.headers).not.toHaveProperty('content-encoding')
  expect(second?.socket).toBe(first?.socket)
})

test('gzip is what goes over the wire', async () => {
  await using backend = await startHttpBackend((response) => response.end())
  await using transport = open(backend.url, { compression: 'gzip' })
  await transport.send(REQUEST, going())
  expect(backend.requests[0]?.headers['content-encoding']).toBe('gzip')
  expect(gunzipSync(backend.requests[0]!.body)).toEqual(Buffer.from(REQUEST))
})

test('sends JSON through the given translation', async () => {
  await using backend = await startHttpBackend((response) => response.end('{}'))
  await using transport = open(backend.url, {
    toJson: (request) => JSON.stringify({ bytes: request.length }),
  })
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered' })
  expect(backend.requests[0]?.headers['content-type']).toBe('application/json')
  expect(backend.requests[0]?.body.toString()).toBe(`{"bytes":${REQUEST.length}}`)
})

test('what cannot be translated is refused, and so passed over', async () => {
  await using backend = await startHttpBackend((response) => response.end())
  await using transport = open(backend.url, {
    toJson: () => {
      throw new Error('no such field')
    },
  })
  expect(await transport.send(REQUEST, going())).toEqual({
    kind: 'refused',
    splittable: true,
    reason: 'cannot be written as OTLP/JSON: no such field',
  })
  expect(backend.requests).toHaveLength(0)
})

test('a backend that is down means retry', async () => {
  const port = await freePort()
  for (const host of ['127.0.0.1', 'localhost']) {
    await using transport = open(`http://${host}:${port}/v1/traces`)
    expect(await transport.send(REQUEST, going())).toEqual({
      kind: 'retry',
      reason: expect.stringContaining('ECONNREFUSED'),
    })
  }
})

test('a backend that never answers means retry', async () => {
  await using backend = await startHttpBackend(() => undefined)
  await using transport = open(backend.url, { timeoutMs: 50 })
  expect(await transport.send(REQUEST, going())).toMatchObject({
    kind: 'retry',
    reason: 'no answer within 50 ms',
  })
})

test.each(['HTTP/1.1 20', 'HTTP/1.1 200 OK\r\nContent-Le'])(
  'a backend that stops in the middle of the head of its answer (%j) means retry',
  async (beginning) => {
    await using backend = await startRawBackend((socket) => socket.end(beginning))
    await using transport = open(`http://127.0.0.1:${backend.port}/v1/traces`)
    expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'retry' })
  },
)

const ACCEPTED = {
  kind: 'delivered',
  refused: 0,
  message: 'the backend accepted the request with an unreadable reply',
}
const BEGUN = [
  ['with a length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'],
  ['in chunks', 'HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n'],
  ['in bad chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhalf'],
] as const

test.each(BEGUN)('a yes %s is one, though its body breaks off', async (_, answer) => {
  await using backend = await startRawBackend((socket) => socket.end(answer))
  await using transport = open(`http://127.0.0.1:${backend.port}/v1/traces`)
  expect(await transport.send(REQUEST, going())).toEqual(ACCEPTED)
})

test.each([
  ['yes', 200, ACCEPTED],
  ['no', 400, { kind: 'refused', splittable: true, reason: 'HTTP 400 Bad Request: half' }],
])('a %s is one, though its body never ends; the connection is given up', async (_, status, outcome) => {
  const { promise: hungUp, resolve } = Promise.withResolvers<undefined>()
  await using backend = await startHttpBackend((response) => {
    response.on('close', () => resolve(undefined))
    response.writeHead(status).write('half')
  })
  await using transport = open(backend.url, { timeoutMs: 2_000 })
  expect(await transport.send(REQUEST, going())).toEqual(outcome)
  await hungUp
})

test('a refusal counts even when its body breaks off, as from a backend that reads a large request no further', async () => {
  await using backend = await startRawBackend((socket) =>
    socket.end('HTTP/1.1 413 Content Too Large\r\nContent-Length: 100\r\n\r\nlimit is 1 MiB'),
  )
  await using transport = open(`http://127.0.0.1:${backend.port}/v1/traces`)
  expect(await transport.send(REQUEST, going())).toEqual({
    kind: 'refused',
    splittable: true,
    reason: 'HTTP 413 Payload Too Large: limit is 1 MiB',
  })
})

test('a reply without end is not read on', async () => {
  const { promise: hungUp, resolve } = Promise.withResolvers<undefined>()
  await using backend = await startHttpBackend((response) => {
    response.on('close', () => resolve(undefined))
    response.write(Buffer.alloc(5 * 1024 * 1024))
  })
  await using transport = open(backend.url)
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered' })
  await hungUp
})

test('aborting ends a running send with retry', async () => {
  const stop = new AbortController()
  await using backend = await startHttpBackend(() => stop.abort())
  await using transport = open(backend.url)
  expect(await transport.send(REQUEST, stop.signal)).toEqual({
    kind: 'retry',
    reason: 'stopped while sending',
  })
  expect(await transport.send(REQUEST, stop.signal)).toEqual({
    kind: 'retry',
    reason: 'stopped before sending',
  })
  expect(backend.requests).toHaveLength(1)
})

test('disposing ends a running send with retry, and later sends too', async () => {
  await using backend = await startHttpBackend(() => void transport[Symbol.asyncDispose]())
  const transport = open(backend.url)
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'retry' })
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'retry' })
  expect(backend.requests).toHaveLength(1)
})

test('TLS trusts only the given certificate and name, unless told to skip that', async () => {
  const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
  const caFile = here('tls/cert.pem')
  const server = createTlsServer({ key: readFileSync(here('tls/key.pem')), cert: readFileSync(caFile) })
  await using backend = await startHttpBackend((response) => response.end(), server, 'https')
  const outcomeWith = async (changes: object): Promise<string> => {
    const tls = { insecure: false, insecureSkipVerify: false, ...changes }
    await using transport = open(backend.url, { tls })
    return (await transport.send(REQUEST, going())).kind
  }
  expect(await outcomeWith({})).toBe('retry')
  expect(await outcomeWith({ caFile })).toBe('retry')
  expect(await outcomeWith({ caFile, serverNameOverride: 'backend.test' })).toBe('delivered')
  expect(await outcomeWith({ insecureSkipVerify: true })).toBe('delivered')
})

test('unusable settings are errors, and a header is named without its value', () => {
  const withHeader = (): unknown =>
    open('http://127.0.0.1:1/', { headers: { Authorization: 'Bearer sec\nret' } })
  expect(withHeader).toThrow(/^headers: authorization cannot be sent over HTTP/)
  expect(withHeader).not.toThrow(/ret/)
  expect(() => open('ftp://127.0.0.1/')).toThrow('write http:// or https://')
})

test('a backend that switches to another protocol has taken nothing', async () => {
  await using backend = await startHttpBackend((response) =>
    response.writeHead(101, { connection: 'upgrade', upgrade: 'else' }).end(),
  )
  await using transport = open(backend.url)
  const outcome = await transport.send(REQUEST, going())
  expect(outcome).toMatchObject({ kind: 'retry', reason: expect.stringContaining('another protocol') })
})
