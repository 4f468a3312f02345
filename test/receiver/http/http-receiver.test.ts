import { expect, test } from '@jest/globals'
import { JSON_TYPE, post, PROTOBUF, send } from '../../../lab/harness/clients/http-sender.ts'
import type { IngestOutcome } from '../../../src/model/otlp-requests.ts'
import { protobufOfJson } from '../../../src/model/otlp/json-to-protobuf.ts'
import { encodeExportResponse, encodeRpcStatus } from '../../../src/model/otlp/responses.ts'
import { RecordingPort } from '../support/recording-port.ts'
import { startHttp } from '../support/start-receivers.ts'

const request = Buffer.from('any bytes at all')
const json = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"cpid.mergelog"}]}]}]}'

test('hands protobuf to the port byte by byte and answers with an empty body of the same type', async () => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port)
  const answer = await post(receiver.port, '/v1/traces', PROTOBUF, request)
  expect(answer).toMatchObject({ status: 200, type: 'application/x-protobuf', body: Buffer.alloc(0) })
  expect(port.requests).toEqual([{ signal: 'traces', request }])
  expect(receiver.answered).toMatchObject([
    { receiver: 'otlp/test', transport: 'http', signal: 'traces', outcome: { kind: 'accepted' }, bytes: 16 },
  ])
})

test('turns JSON into protobuf and answers in JSON', async () => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port)
  const answer = await post(receiver.port, '/v1/logs', JSON_TYPE, json)
  expect(answer).toMatchObject({ status: 200, type: 'application/json', body: Buffer.from('{}') })
  expect(port.requests).toEqual([
    { signal: 'logs', request: Buffer.from(protobufOfJson('logs', Buffer.from(json))) },
  ])
  expect(receiver.answered).toMatchObject([{ bytes: json.length }])
})

test.each([
  ['application/json; charset=utf-8', 'application/json'],
  ['APPLICATION/JSON', 'application/json'],
  ['Application/X-Protobuf;a=b', 'application/x-protobuf'],
])('takes the type %s and answers with %s', async (sent, answered) => {
  await using receiver = await startHttp(new RecordingPort())
  const body = answered === 'application/json' ? '{}' : ''
  const answer = await post(receiver.port, '/v1/traces?key=value', { 'content-type': sent }, body)
  expect(answer).toMatchObject({ status: 200, type: answered })
})

test('partial success tells how many were rejected and why', async () => {
  const outcome = { kind: 'accepted', stored: 1, rejected: 3, message: 'cpid.id is not a UUID' } as const
  await using receiver = await startHttp(new RecordingPort(outcome))
  const inProtobuf = await post(receiver.port, '/v1/logs', PROTOBUF, request)
  const inJson = await post(receiver.port, '/v1/logs', JSON_TYPE, json)
  expect(inProtobuf).toMatchObject({
    status: 200,
    body: Buffer.from(encodeExportResponse('logs', 'protobuf', outcome)),
  })
  expect(inJson).toMatchObject({
    status: 200,
    body: Buffer.from(encodeExportResponse('logs', 'json', outcome)),
  })
})

test.each<
  [IngestOutcome & { reason: string }, number, { code: number; retryAfterMs?: number }, string | null]
>([
  [{ kind: 'malformed', reason: 'cut short' }, 400, { code: 3 }, null],
  [{ kind: 'tooLarge', reason: 'large' }, 413, { code: 8 }, null],
  [{ kind: 'busy', retryAfterMs: 1500, reason: 'busy' }, 503, { code: 14, retryAfterMs: 1500 }, '2'],
  [{ kind: 'failed', reason: 'disk full' }, 503, { code: 14 }, null],
])(
  'a refusal %j has status %i and a google.rpc.Status %j',
  async (outcome, httpStatus, fields, retryAfter) => {
    await using receiver = await startHttp(new RecordingPort(outcome))
    const status = { ...fields, message: outcome.reason }
    for (const [encoding, type, body] of [
      ['protobuf', PROTOBUF, request],
      ['json', JSON_TYPE, '{}'],
    ] as const) {
      const answer = await post(receiver.port, '/v1/traces', type, body)
      expect(answer).toMatchObject({ status: httpStatus, type: type['content-type'] })
      expect(answer.body).toEqual(Buffer.from(encodeRpcStatus(encoding, status)))
      expect(answer.headers.get('retry-after')).toBe(retryAfter)
    }
    expect(receiver.answered).toMatchObject([{ outcome }, { outcome }])
  },
)

test('a port that rejects against its contract is answered as failed', async () => {
  const port = new RecordingPort(() => {
    throw new Error('broken')
  })
  await using receiver = await startHttp(port)
  expect(await post(receiver.port, '/v1/traces', PROTOBUF, request)).toMatchObject({ status: 503 })
})

test.each(['/', '/v1', '/v1/traces/', '/v1/metrics', '/V1/traces'])(
  'the path %s is not found',
  async (path) => {
    await using receiver = await startHttp(new RecordingPort())
    expect(await post(receiver.port, path, PROTOBUF, request)).toMatchObject({
      status: 404,
      type: 'text/plain; charset=utf-8',
      body: Buffer.from('404 page not found\n'),
    })
    expect(receiver.answered).toEqual([])
  },
)

test('a signal in no pipeline is not found', async () => {
  await using receiver = await startHttp(new RecordingPort(), { signals: ['traces'] })
  expect(await post(receiver.port, '/v1/logs', PROTOBUF, request)).toMatchObject({ status: 404 })
  expect(await post(receiver.port, '/v1/traces', PROTOBUF, request)).toMatchObject({ status: 200 })
})

test('paths are configurable', async () => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port, { tracesUrlPath: '/in/spans' })
  expect(await post(receiver.port, '/in/spans', PROTOBUF, request)).toMatchObject({ status: 200 })
  expect(await post(receiver.port, '/v1/traces', PROTOBUF, request)).toMatchObject({ status: 404 })
  expect(await post(receiver.port, '/v1/logs', PROTOBUF, request)).toMatchObject({ status: 200 })
  expect(port.requests.map(({ signal }) => signal)).toEqual(['traces', 'logs'])
})

test.each(['GET', 'PUT', 'DELETE', 'OPTIONS'])('%s is not allowed', async (method) => {
  await using receiver = await startHttp(new RecordingPort())
  const answer = await send(receiver.port, '/v1/traces', { method })
  expect(answer).toMatchObject({ status: 405, type: 'application/json' })
  expect(answer.headers.get('allow')).toBe('POST')
  expect(JSON.parse(answer.body.toString())).toEqual({
    code: 12,
    message: `${method} is not supported; use POST`,
  })
})

test.each([{}, { 'content-type': 'text/plain' }, { 'content-type': 'application/json2' }])(
  'the headers %j name no type that is supported',
  async (headers: Record<string, string>) => {
    const port = new RecordingPort()
    await using receiver = await startHttp(port)
    const answer = await post(receiver.port, '/v1/traces', headers, request)
    expect(answer).toMatchObject({ status: 415, type: 'application/json' })
    expect(JSON.parse(answer.body.toString())).toEqual({
      code: 3,
      message: 'unsupported Content-Type; use application/x-protobuf or application/json',
    })
    expect(port.requests).toEqual([])
    expect(receiver.answered).toMatchObject([{ signal: 'traces', outcome: { kind: 'malformed' } }])
  },
)

test('corrupt JSON is malformed and never reaches the port', async () => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port)
  const answer = await post(receiver.port, '/v1/traces', JSON_TYPE, '{"resourceSpans":[{"resource":7}]}')
  expect(answer).toMatchObject({ status: 400, type: 'application/json' })
  expect(JSON.parse(answer.body.toString())).toEqual({
    code: 3,
    message: '$.resourceSpans[0].resource: expected an object, found a JSON number',
  })
  expect(port.requests).toEqual([])
  expect(receiver.answered).toMatchObject([{ outcome: { kind: 'malformed' } }])
})

test('base64 ids and unknown members in JSON spoil neither the request nor the span beside', async () => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port)
  const spans = (...ids: string[]) => ({
    resourceSpans: [{ scopeSpans: [{ spans: ids.map((traceId) => ({ traceId, unknown: { a: [1] } })) }] }],
  })
  const sent = JSON.stringify(spans('W47/95gDgQPSabYzgT/GDA==', '5B8EFFF798038103D269B633813FC60C'))
  expect(await post(receiver.port, '/v1/traces', JSON_TYPE, sent)).toMatchObject({ status: 200 })
  const kept = JSON.stringify(spans('', '5b8efff798038103d269b633813fc60c'))
  expect(port.requests[0]?.request).toEqual(Buffer.from(protobufOfJson('traces', Buffer.from(kept))))
})
