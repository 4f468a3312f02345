import { expect, test } from '@jest/globals'
import { openHttpTransport } from '../../src/exporter/otlp-http/http-transport.ts'
import { startHttpBackend } from '../../lab/harness/sinks/http-backend.ts'
import { partialSuccess, rpcStatus } from './otlp-bytes.ts'
import { going, httpSettings, REQUEST } from './transport-settings.ts'

const clock = { wallMs: () => Date.UTC(2026, 0, 1) }
const PROTOBUF = { 'content-type': 'application/x-protobuf' }
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }

async function outcomeOf(
  status: number,
  headers: Record<string, string> = {},
  body: string | Buffer = '',
): Promise<unknown> {
  await using backend = await startHttpBackend((response) => response.writeHead(status, headers).end(body))
  await using transport = openHttpTransport(httpSettings(backend.url), clock)
  return await transport.send(REQUEST, going())
}

test.each([429, 502, 503, 504])('HTTP %i is retried', async (status) => {
  expect(await outcomeOf(status)).toMatchObject({ kind: 'retry' })
  expect(await outcomeOf(status)).not.toHaveProperty('afterMs')
})

test.each([400, 413])('HTTP %i is refused, but a smaller batch may fare better', async (status) => {
  expect(await outcomeOf(status)).toMatchObject({ kind: 'refused', splittable: true })
})

test.each([401, 403, 404, 405, 408, 415, 500, 501, 505])('HTTP %i is refused', async (status) => {
  expect(await outcomeOf(status)).toMatchObject({ kind: 'refused', splittable: false })
})

test.each([301, 302, 303, 307, 308])(
  'HTTP %i sends it elsewhere, which refuses nothing: the data is kept',
  async (status) => {
    expect(await outcomeOf(status, { location: '/elsewhere' })).toEqual({
      kind: 'retry',
      reason: expect.stringMatching(
        /^HTTP 30. .*: redirected to \/elsewhere; correct the endpoint, or a proxy/,
      ),
    })
  },
)

const PAGE = '<html>Sign in</html>'

test.each([
  ['a page of the web', 'text/html; charset=utf-8', PAGE],
  ['a page that names no type', '', PAGE],
  ['a page that says it is protobuf', 'application/x-protobuf', PAGE],
  ['a page that says it is JSON', 'application/json', PAGE],
  ['JSON that is no object', 'application/json', '"OK"'],
  ['a list', 'application/json', '[]'],
  ['a page that says it is text', 'text/plain', `\n ${PAGE}`],
  ['a page that is too long', 'text/html', 'x'.repeat(5 * 1024 * 1024)],
])('a yes with %s is none of an OTLP backend: the data is kept', async (_, type, body) => {
  expect(await outcomeOf(200, type === '' ? {} : { 'content-type': type }, body)).toEqual({
    kind: 'retry',
    reason: expect.stringMatching(
      /^HTTP 200 OK with a( web page| body \(.*\) that is no OTLP answer); correct the endpoint, or a proxy/,
    ),
  })
})

test.each(['', 'text/html', 'text/plain', 'application/json', 'application/x-protobuf'])(
  'a yes without a body is one, of whatever type (%s)',
  async (type) => {
    const headers: Record<string, string> = type === '' ? {} : { 'content-type': type }
    expect(await outcomeOf(200, headers)).toEqual({ kind: 'delivered', refused: 0, message: '' })
    expect(await outcomeOf(204, headers)).toEqual({ kind: 'delivered', refused: 0, message: '' })
  },
)

test.each([
  ['text/plain', 'ok'],
  ['text/csv', 'x'.repeat(5 * 1024 * 1024)],
  ['', 'accepted'],
])('a yes in words of the backend (%s) is a delivery', async (type, body) => {
  expect(await outcomeOf(200, type === '' ? {} : { 'content-type': type }, body)).toEqual({
    kind: 'delivered',
    refused: 0,
    message: '',
  })
})

test('a success is read although its protobuf has no content type, or another name for it', async () => {
  for (const headers of [{}, { 'content-type': 'application/protobuf' }])
    expect(await outcomeOf(200, headers, partialSuccess(3, 'too old'))).toMatchObject({ refused: 3 })
})

test.each([
  ['7', 7000],
  ['0', 0],
  ['Thu, 01 Jan 2026 00:01:30 GMT', 90_000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
])('Retry-After %s is honoured', async (header, afterMs) => {
  const date = 'Thu, 01 Jan 2026 00:00:00 GMT'
  expect(await outcomeOf(503, { 'retry-after': header, date })).toMatchObject({ kind: 'retry', afterMs })
})

test('a date to retry after counts by the clock of the backend, or by this one where it tells none', async () => {
  const said = { 'retry-after': 'Fri, 01 Jan 2027 00:00:30 GMT', date: 'Fri, 01 Jan 2027 00:00:00 GMT' }
  expect(await outcomeOf(503, said)).toMatchObject({ kind: 'retry', afterMs: 30_000 })
  const unsaid = { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT', date: 'unknown' }
  expect(await outcomeOf(503, unsaid)).toMatchObject({ kind: 'retry', afterMs: 30_000 })
})

test.each(['soon', '-5', '1.5', 'Thu, 99 Foo 2026 00:00:00 GMT'])(
  'Retry-After %s is ignored',
  async (header) => {
    expect(await outcomeOf(429, { 'retry-after': header })).not.toHaveProperty('afterMs')
  },
)

test('a partial success in protobuf', async () => {
  expect(await outcomeOf(200, PROTOBUF, partialSuccess(3, 'too old'))).toEqual({
    kind: 'delivered',
    refused: 3,
    message: 'too old',
  })
})

test.each([
  ['{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}', 3, 'too old'],
  ['{"partialSuccess":{"rejectedLogRecords":2}}', 2, ''],
  ['{"partialSuccess":{"errorMessage":"slow down"}}', 0, 'slow down'],
  ['{"partialSuccess":null}', 0, ''],
  ['{"partialSuccess":{"rejectedSpans":-1}}', 0, ''],
  ['{}', 0, ''],
])('a reply in JSON: %s', async (body, refused, message) => {
  expect(await outcomeOf(200, JSON_TYPE, body)).toEqual({ kind: 'delivered', refused, message })
})

test('the reason holds what the backend said, in whatever form', async () => {
  const refused = (reason: string): unknown => ({ kind: 'refused', splittable: true, reason })
  expect(await outcomeOf(400, PROTOBUF, rpcStatus('bad id'))).toEqual(refused('HTTP 400 Bad Request: bad id'))
  expect(await outcomeOf(400, JSON_TYPE, '{"message":"bad id"}')).toEqual(
    refused('HTTP 400 Bad Request: bad id'),
  )
  expect(await outcomeOf(400, {}, 'bad\n  id\n')).toEqual(refused('HTTP 400 Bad Request: bad id'))
  expect(await outcomeOf(400, JSON_TYPE, '"nothing"')).toEqual(refused('HTTP 400 Bad Request'))
  expect(await outcomeOf(400, PROTOBUF, Buffer.from([0x12, 0x7f]))).toEqual(refused('HTTP 400 Bad Request'))
})

test('a reply larger than 4 MiB is not read to its end', async () => {
  const large = Buffer.alloc(5 * 1024 * 1024, 'x')
  expect(await outcomeOf(200, PROTOBUF, large)).toMatchObject({
    kind: 'delivered',
    refused: 0,
    message: expect.stringContaining('an unreadable reply'),
  })
  expect(await outcomeOf(503, {}, large)).toMatchObject({ kind: 'retry' })
})
