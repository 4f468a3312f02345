import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { acceptBearerTokens } from '../../src/trust/bearer-tokens.ts'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import { RawHttp2 } from '../../lab/harness/clients/raw-http2.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

test.each([
  ['gRPC', startGrpc, 'grpc'],
  ['HTTP', startHttp, 'http'],
] as const)('over %s a connection too many is closed at once, and told of', async (_, start, transport) => {
  await using receiver = await start(new RecordingPort(), { maxConnections: 2 })
  const open = [connect(receiver.port, '127.0.0.1'), connect(receiver.port, '127.0.0.1')]
  await Promise.all(open.map((socket) => once(socket, 'connect')))
  while (receiver.connections < 2) await new Promise((resolve) => setImmediate(resolve))
  const further = connect(receiver.port, '127.0.0.1')
    .resume()
    .on('error', () => undefined)
  await once(further, 'close')
  expect(receiver.dropped).toEqual([transport])
  expect(receiver.connections).toBe(2)
  open[0]?.destroy()
  while (receiver.connections > 1) await new Promise((resolve) => setImmediate(resolve))
  const next = connect(receiver.port, '127.0.0.1')
  await once(next, 'connect')
  while (receiver.connections < 2) await new Promise((resolve) => setImmediate(resolve))
  for (const socket of [...open, next]) socket.destroy()
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
  acceptBearerTokens({
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
