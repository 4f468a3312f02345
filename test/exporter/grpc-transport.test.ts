import { status } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { freePort } from '../../lab/harness/free-ports.ts'
import { startGrpcBackend, tookAll } from '../../lab/harness/sinks/grpc-backend.ts'
import { sendSplitting } from '../../src/exporter/drain.ts'
import { openGrpcTransport } from '../../src/exporter/otlp-grpc/grpc-transport.ts'
import { partialSuccess } from './otlp-bytes.ts'
import { going, grpcSettings, REQUEST } from './transport-settings.ts'

test('sends the bytes, the headers and the user agent to the trace service', async () => {
  await using backend = await startGrpcBackend(tookAll)
  await using transport = openGrpcTransport(
    grpcSettings(backend.port, { headers: { 'X-Scope-OrgID': 'team', 'trace-bin': 'raw' } }),
  )
  expect(await transport.send(REQUEST, going())).toEqual({ kind: 'delivered', refused: 0, message: '' })
  expect(backend.requests).toHaveLength(1)
  const { body, metadata, path } = backend.requests[0]!
  expect(body).toEqual(Buffer.from(REQUEST))
  expect(path).toBe('/opentelemetry.proto.collector.trace.v1.TraceService/Export')
  expect(metadata.get('x-scope-orgid')).toEqual(['team'])
  expect(metadata.get('trace-bin')).toEqual([Buffer.from('raw')])
  expect(metadata.get('user-agent')[0]).toMatch(/^causeway\/0\.1\.0 /)
})

test('sends logs to the log service', async () => {
  await using backend = await startGrpcBackend(tookAll)
  await using transport = openGrpcTransport(grpcSettings(backend.port, { signal: 'logs' }))
  await transport.send(REQUEST, going())
  expect(backend.requests[0]?.path).toBe('/opentelemetry.proto.collector.logs.v1.LogsService/Export')
})

test('a partial success is delivered with what was refused', async () => {
  await using backend = await startGrpcBackend((reply) => reply(null, partialSuccess(2, 'span too old')))
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  expect(await transport.send(REQUEST, going())).toEqual({
    kind: 'delivered',
    refused: 2,
    message: 'span too old',
  })
})

test('an unreadable reply is delivered, since the backend said yes', async () => {
  await using backend = await startGrpcBackend((reply) => reply(null, Buffer.from([0x0a, 0x7f])))
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered', refused: 0 })
})

test('a backend that is down means retry', async () => {
  await using transport = openGrpcTransport(grpcSettings(await freePort()))
  expect(await transport.send(REQUEST, going())).toEqual({
    kind: 'retry',
    reason: expect.stringMatching(/^UNAVAILABLE: .*ECONNREFUSED/),
  })
})

test('a backend that dies in the middle of a call means retry', async () => {
  const backend = await startGrpcBackend(() => void backend[Symbol.asyncDispose]())
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'retry' })
})

test('a backend that never answers means retry', async () => {
  await using backend = await startGrpcBackend(() => undefined)
  await using transport = openGrpcTransport(grpcSettings(backend.port, { timeoutMs: 50 }))
  expect(await transport.send(REQUEST, going())).toMatchObject({
    kind: 'retry',
    reason: expect.stringMatching(/^DEADLINE_EXCEEDED: /),
  })
})

test('aborting ends a running send with retry', async () => {
  const stop = new AbortController()
  await using backend = await startGrpcBackend(() => stop.abort())
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  expect(await transport.send(REQUEST, stop.signal)).toEqual({
    kind: 'retry',
    reason: expect.stringMatching(/^CANCELLED: /),
  })
  expect(await transport.send(REQUEST, stop.signal)).toEqual({
    kind: 'retry',
    reason: 'stopped before sending',
  })
  expect(backend.requests).toHaveLength(1)
})

test('disposing ends a running send with retry, and later sends too', async () => {
  await using backend = await startGrpcBackend(() => void transport[Symbol.asyncDispose]())
  const transport = openGrpcTransport(grpcSettings(backend.port))
  expect(await transport.send(REQUEST, going())).toEqual({
    kind: 'retry',
    reason: expect.stringMatching(/^CANCELLED: /),
  })
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'retry' })
  await transport[Symbol.asyncDispose]()
})

test('a request larger than the backend takes is split until it fits', async () => {
  // The library's server takes 4 MiB.
  await using backend = await startGrpcBackend(tookAll)
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  const items = [1, 2, 3, 4, 5].map((item) => Buffer.alloc(1024 * 1024, item))
  expect(await transport.send(Buffer.concat(items), going())).toMatchObject({
    kind: 'refused',
    splittable: true,
  })
  const outcome = await sendSplitting(items, {
    encode: (part) => Buffer.concat(part),
    transport,
    signal: going(),
  })
  expect(outcome).toEqual({ kind: 'done', delivered: 5, refused: 0 })
  expect(backend.requests.map(({ body }) => body.length / (1024 * 1024))).toEqual([3, 2])
})

test('a reply larger than 4 MiB is not read', async () => {
  await using backend = await startGrpcBackend((reply) => reply(null, Buffer.alloc(5 * 1024 * 1024)))
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  expect(await transport.send(REQUEST, going())).toMatchObject({
    kind: 'delivered',
    message: expect.stringContaining('unreadable reply'),
  })
})

test('a long reason is cut', async () => {
  const details = 'x'.repeat(5000)
  await using backend = await startGrpcBackend((reply) => reply({ code: status.INTERNAL, details }))
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  const outcome = await transport.send(REQUEST, going())
  expect(outcome.kind === 'refused' && outcome.reason.length).toBe(1001)
})

test('a header that cannot be sent is named without its value', () => {
  const open = (): unknown =>
    openGrpcTransport(grpcSettings(1, { headers: { authorization: 'Bearer sécret' } }))
  expect(open).toThrow(/^headers: authorization cannot be sent over gRPC/)
  expect(open).not.toThrow(/sécret/)
})
