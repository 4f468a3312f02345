import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import { COMPRESSED, GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import { sendRawGrpc } from '../../../lab/harness/clients/raw-grpc.ts'
import { EXPORT_METHODS } from '../../../lab/harness/export-methods.ts'
import type { IngestOutcome } from '../../../src/model/otlp-requests.ts'
import { encodeExportResponse, encodeRpcStatus } from '../../../src/model/otlp/responses.ts'
import { InFlight } from '../../../src/receiver/in-flight.ts'
import { asSnappy } from '../codings/as-snappy.ts'
import { ENCODED } from '../codings/encoded-by-go.ts'
import { holdingPort, RecordingPort } from '../support/recording-port.ts'
import { startGrpc } from '../support/start-receivers.ts'

const ACCEPTED = 'identity,deflate,gzip,snappy,zstd'
const MIB = 1024 * 1024
/** What stands before each gRPC message. */
const FRAME_BYTES = 5
const OK = 0
const INVALID_ARGUMENT = 3
const RESOURCE_EXHAUSTED = 8
const UNIMPLEMENTED = 12
const UNAVAILABLE = 14

const request = Buffer.from('any bytes at all')

test('hands each signal to the port byte by byte and answers with an empty message', async () => {
  const port = new RecordingPort()
  await using receiver = await startGrpc(port)
  using sender = new GrpcSender(receiver.port)
  expect(await sender.export('traces', request)).toMatchObject({ code: OK, response: Buffer.alloc(0) })
  expect(await sender.export('logs', Buffer.alloc(0))).toMatchObject({ code: OK, response: Buffer.alloc(0) })
  expect(port.requests).toEqual([
    { signal: 'traces', request },
    { signal: 'logs', request: Buffer.alloc(0) },
  ])
  expect(receiver.answered).toMatchObject([
    { receiver: 'otlp/test', transport: 'grpc', signal: 'traces', outcome: { kind: 'accepted' }, bytes: 16 },
    { receiver: 'otlp/test', transport: 'grpc', signal: 'logs', outcome: { kind: 'accepted' }, bytes: 0 },
  ])
})

test.each([
  { kind: 'accepted', stored: 1, rejected: 3, message: 'cpid.id is not a UUID' },
  { kind: 'accepted', stored: 1, rejected: 0, message: 'a warning' },
] as const)('partial success tells how many were rejected and why: %j', async (outcome) => {
  await using receiver = await startGrpc(new RecordingPort(outcome))
  using sender = new GrpcSender(receiver.port)
  const { code, response } = await sender.export('logs', request)
  expect(code).toBe(OK)
  expect(response).toEqual(Buffer.from(encodeExportResponse('logs', 'protobuf', outcome)))
})

test.each<[IngestOutcome, number, number | undefined]>([
  [{ kind: 'malformed', reason: 'cut short' }, INVALID_ARGUMENT, undefined],
  [{ kind: 'tooLarge', reason: 'large' }, RESOURCE_EXHAUSTED, undefined],
  [{ kind: 'busy', retryAfterMs: 1500, reason: 'busy' }, UNAVAILABLE, 1500],
  [{ kind: 'failed', reason: 'disk full \ud800 é' }, UNAVAILABLE, undefined],
])('a refusal %j has status %i and the delay %p', async (outcome, code, retryAfterMs) => {
  await using receiver = await startGrpc(new RecordingPort(outcome))
  using sender = new GrpcSender(receiver.port)
  const answer = await sender.export('traces', request)
  const message = 'reason' in outcome ? outcome.reason.toWellFormed() : ''
  expect(answer).toMatchObject({ code, message })
  const status = { code, message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
  expect(answer.details).toEqual(Buffer.from(encodeRpcStatus('protobuf', status)))
  expect(receiver.answered).toMatchObject([{ signal: 'traces', outcome }])
})

test('a port that rejects against its contract is answered as failed', async () => {
  const port = new RecordingPort(() => {
    throw new Error('broken')
  })
  await using receiver = await startGrpc(port)
  using sender = new GrpcSender(receiver.port)
  expect(await sender.export('traces', request)).toMatchObject({
    code: UNAVAILABLE,
    message: 'the request could not be stored: broken',
  })
})

test('a signal in no pipeline is unimplemented', async () => {
  const port = new RecordingPort()
  await using receiver = await startGrpc(port, { signals: ['traces'] })
  using sender = new GrpcSender(receiver.port)
  expect(await sender.export('logs', request)).toMatchObject({ code: UNIMPLEMENTED })
  expect(await sender.export('traces', request)).toMatchObject({ code: OK })
})

test('takes gzip', async () => {
  const port = new RecordingPort()
  await using receiver = await startGrpc(port)
  using sender = new GrpcSender(receiver.port, COMPRESSED)
  expect(await sender.export('traces', Buffer.alloc(100_000, 7))).toMatchObject({ code: OK })
  expect(port.requests).toEqual([{ signal: 'traces', request: Buffer.alloc(100_000, 7) }])
})

test('64 MiB are taken and 65 MiB refused for good, as they come or compressed', async () => {
  const port = new RecordingPort()
  await using receiver = await startGrpc(port)
  using plain = new GrpcSender(receiver.port)
  using compressed = new GrpcSender(receiver.port, COMPRESSED)
  expect(await plain.export('traces', Buffer.alloc(64 * MIB))).toMatchObject({ code: OK })
  for (const sender of [plain, compressed]) {
    const refused = await sender.export('traces', Buffer.alloc(65 * MIB))
    expect(refused).toMatchObject({ code: RESOURCE_EXHAUSTED, details: undefined })
  }
  expect(port.requests).toHaveLength(1)
  expect(receiver.answered.map(({ outcome }) => outcome.kind)).toEqual(['accepted', 'tooLarge', 'tooLarge'])
})

const FRAMED_BLANKS = ENCODED.find(
  ({ coding, content }) => coding === 'x-snappy-framed' && content === 'repeats',
)!

test.each([
  ['snappy', FRAMED_BLANKS.bytes, FRAMED_BLANKS.plain],
  ['zstd', zstdCompressSync(request), request],
  ['gzip', gzipSync(request), request],
  ['deflate', deflateSync(request), request],
])('takes grpc-encoding %s, and says what else it takes', async (encoding, payload, plain) => {
  const port = new RecordingPort()
  await using receiver = await startGrpc(port)
  const { path } = EXPORT_METHODS.traces
  const answer = await sendRawGrpc(receiver.port, { path, encoding, payload })
  expect(answer).toMatchObject({ code: OK, accepts: ACCEPTED })
  expect(port.requests).toEqual([{ signal: 'traces', request: plain }])
})

test.each(['lz4', 'x-snappy-framed', 'constructor'])(
  'for %s it says which encodings it takes, as gRPC asks for it',
  async (encoding) => {
    await using receiver = await startGrpc(new RecordingPort())
    const { path } = EXPORT_METHODS.logs
    const answer = await sendRawGrpc(receiver.port, { path, encoding, payload: request })
    expect(answer).toMatchObject({ code: UNIMPLEMENTED, accepts: ACCEPTED })
    expect(answer.message).toContain(`compressed with ${encoding}; use one of ${ACCEPTED}`)
    expect(receiver.answered).toMatchObject([{ signal: 'logs', outcome: { kind: 'malformed' }, bytes: 0 }])
  },
)

test.each([
  ['gzip', gzipSync(Buffer.alloc(100 * MIB))],
  ['zstd', zstdCompressSync(Buffer.alloc(100 * MIB))],
  ['snappy', Buffer.concat(Array.from({ length: 200 }, () => FRAMED_BLANKS.bytes))],
])('a %s bomb is refused', async (encoding, bomb) => {
  await using receiver = await startGrpc(new RecordingPort(), { maxMessageBytes: MIB })
  const { path } = EXPORT_METHODS.traces
  expect(bomb.length).toBeLessThan(MIB)
  const answer = await sendRawGrpc(receiver.port, { path, encoding, payload: bomb })
  expect(answer).toMatchObject({ code: RESOURCE_EXHAUSTED })
  expect(receiver.answered).toMatchObject([{ signal: 'traces', outcome: { kind: 'tooLarge' } }])
})

test.each([
  ['corrupt gzip', 'gzip', Buffer.from('not gzip'), INVALID_ARGUMENT],
  ['cut gzip', 'gzip', gzipSync(request).subarray(0, 20), INVALID_ARGUMENT],
  [
    'a block of Snappy, which gRPC has framed',
    'snappy',
    asSnappy([{ literal: request, back: 1, length: 0 }]),
    INVALID_ARGUMENT,
  ],
  ['cut zstd', 'zstd', zstdCompressSync(request).subarray(0, 20), INVALID_ARGUMENT],
])('%s is malformed', async (_, encoding, payload, code) => {
  await using receiver = await startGrpc(new RecordingPort())
  const { path } = EXPORT_METHODS.logs
  expect(await sendRawGrpc(receiver.port, { path, encoding, payload })).toMatchObject({ code })
  expect(receiver.answered).toMatchObject([{ signal: 'logs', outcome: { kind: 'malformed' }, bytes: 0 }])
})

test('a request that would exceed the budget is busy, and goes through once there is room', async () => {
  const { port, release } = holdingPort()
  const inFlight = new InFlight(1000)
  await using receiver = await startGrpc(port, { inFlight })
  using sender = new GrpcSender(receiver.port)
  const first = sender.export('traces', Buffer.alloc(900 - FRAME_BYTES))
  await port.received(1)
  const refused = await sender.export('traces', Buffer.alloc(200))
  expect(refused).toMatchObject({ code: UNAVAILABLE })
  expect(refused.details?.toString('latin1')).toContain('google.rpc.RetryInfo')
  const second = sender.export('traces', Buffer.alloc(100 - FRAME_BYTES))
  await port.received(2)
  // The budget is spent to the last byte: now calls are turned away before their message is read.
  expect(await sender.export('traces', Buffer.alloc(0))).toMatchObject({ code: UNAVAILABLE })
  release()
  expect(await Promise.all([first, second])).toMatchObject([{ code: OK }, { code: OK }])
  expect(inFlight.bytes).toBe(0)
  expect(receiver.answered.map(({ outcome }) => outcome.kind)).toEqual([
    'busy',
    'busy',
    'accepted',
    'accepted',
  ])
})

test('many requests are in flight at once on one connection', async () => {
  const { port, release } = holdingPort()
  await using receiver = await startGrpc(port)
  using sender = new GrpcSender(receiver.port)
  const answers = Array.from({ length: 100 }, (_, index) => sender.export('traces', Buffer.from([index])))
  await port.received(100)
  release()
  for (const { code } of await Promise.all(answers)) expect(code).toBe(OK)
})
