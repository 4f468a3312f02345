import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from '@jest/globals'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import { RawHttp2 } from '../../lab/harness/clients/raw-http2.ts'
import type { IngestPort } from '../../src/model/otlp-requests.ts'
import { openBearerAuthenticator } from '../../src/platform/credentials.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

test.each([
  ['silent', ''],
  ['half-sent', 'POST /v1/traces HTTP/1.1\r\nHos'],
])('over HTTP any number of %s connections keeps nobody of the same address out', async (_, sent) => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port, { maxConnections: 4, maxConnectionsPerAddress: 1 })
  const others = Array.from({ length: 20 }, () =>
    connect(receiver.port, '127.0.0.1').on('error', () => undefined),
  )
  for (const other of others) other.resume().write(sent)
  await Promise.all(others.map((other) => once(other, 'connect')))
  for (let at = 0; at < 3; at++)
    expect(await post(receiver.port, '/v1/traces', PROTOBUF, Buffer.from('x'))).toMatchObject({ status: 200 })
  expect(receiver.connections).toBeLessThanOrEqual(8)
  expect(receiver.dropped.length).toBeGreaterThanOrEqual(12)
  for (const other of others) other.destroy()
})

test('over gRPC any number of silent connections keeps nobody of the same address out', async () => {
  await using receiver = await startGrpc(new RecordingPort(), {
    maxConnections: 4,
    maxConnectionsPerAddress: 1,
  })
  const others: RawHttp2[] = []
  for (let at = 0; at < 20; at++) others.push(await RawHttp2.to(receiver.port))
  for (let at = 0; at < 3; at++) {
    using sender = new GrpcSender(receiver.port)
    expect(await sender.export('traces', Buffer.from('x'))).toMatchObject({ code: 0 })
  }
  expect(receiver.connections).toBeLessThanOrEqual(8)
  for (const other of others) other[Symbol.dispose]()
})

test('over gRPC a sender with one connection too many is told to retry, and which setting to change', async () => {
  const port = new RecordingPort()
  const [begun, stored] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const slow: IngestPort = {
    ingest: async (signal, request, sender) => {
      begun.resolve(undefined)
      await stored.promise
      return port.ingest(signal, request, sender)
    },
  }
  await using receiver = await startGrpc(slow, { maxConnections: 4, maxConnectionsPerAddress: 1 })
  using first = new GrpcSender(receiver.port)
  using second = new GrpcSender(receiver.port)
  const answer = first.export('traces', Buffer.from('first'))
  await begun.promise
  const refused = await second.export('traces', Buffer.from('second'))
  expect(refused.code).toBe(8)
  expect(refused.message).toContain('connectors::cpid::admission::max_connections_per_address')
  // The RetryInfo by which senders know that they may send it again.
  expect(refused.details?.toString('latin1')).toContain('google.rpc.RetryInfo')
  stored.resolve(undefined)
  expect(await answer).toMatchObject({ code: 0 })
  expect(await second.export('traces', Buffer.from('second'))).toMatchObject({ code: 0 })
})

test('headers larger than a sender has use for are refused', async () => {
  await using receiver = await startHttp(new RecordingPort())
  const socket = connect(receiver.port, '127.0.0.1')
  socket.write(`POST /v1/traces HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 431 /)
  socket.destroy()
})

const bearer = () =>
  openBearerAuthenticator({
    id: 'bearertokenauth/test',
    header: 'Authorization',
    scheme: 'Bearer',
    tokens: ['right'],
    reloadIntervalMs: 0,
    onTrouble: () => undefined,
  })

test('connections over HTTP/2 that show no credential keep nobody out who has one', async () => {
  const port = new RecordingPort()
  using authenticator = bearer()
  await using receiver = await startGrpc(port, { authenticator, maxConnections: 4 })
  using known = new GrpcSender(receiver.port)
  const right = { authorization: 'Bearer right' }
  expect(await known.export('traces', Buffer.from('before'), right)).toMatchObject({ code: 0 })
  const strangers: RawHttp2[] = []
  for (let at = 0; at < 8; at++) strangers.push(await RawHttp2.to(receiver.port))
  using newcomer = new GrpcSender(receiver.port, { 'grpc.use_local_subchannel_pool': 1 })
  expect(await newcomer.export('traces', Buffer.from('meanwhile'), right)).toMatchObject({ code: 0 })
  expect(await known.export('traces', Buffer.from('still'), right)).toMatchObject({ code: 0 })
  for (const stranger of strangers) stranger[Symbol.dispose]()
  expect(port.requests.map(({ request }) => request.toString())).toEqual(['before', 'meanwhile', 'still'])
})

test.each([
  ['gRPC', startGrpc],
  ['HTTP', startHttp],
] as const)(
  'over %s whoever shows no credential in time is sent away, and who has shown one stays',
  async (_, start) => {
    using authenticator = bearer()
    await using receiver = await start(new RecordingPort(), { authenticator, firstBytesMs: 1_000 })
    const authorization = { authorization: 'Bearer right' }
    using sender = new GrpcSender(receiver.port)
    const raw =
      start === startGrpc
        ? await RawHttp2.to(receiver.port)
        : { socket: connect(receiver.port, '127.0.0.1').resume() }
    const stranger = once(raw.socket, 'close')
    if (start === startGrpc) await sender.export('traces', Buffer.from('a'), authorization)
    else await post(receiver.port, '/v1/traces', { ...PROTOBUF, ...authorization }, Buffer.from('a'))
    await stranger
    while (receiver.connections > 1) await new Promise((resolve) => setImmediate(resolve))
    expect(receiver.connections).toBe(1)
    expect(receiver.dropped).toHaveLength(1)
  },
)
