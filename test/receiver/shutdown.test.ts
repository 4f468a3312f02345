import { test, expect } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import { ACCEPTED, holdingPort, RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

const request = Buffer.from('any bytes at all')
const NEVER_MS = 2 ** 31 - 1

/** Whether a TCP connection to the port can be made. */
async function isOpen(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

test('the gRPC receiver stops accepting and answers what is in flight', async () => {
  const { port, release } = holdingPort()
  const receiver = await startGrpc(port, { shutdownGraceMs: NEVER_MS })
  using sender = new GrpcSender(receiver.port)
  const answer = sender.export('traces', request)
  await port.received(1)
  const closed = receiver[Symbol.asyncDispose]()
  expect(await isOpen(receiver.port)).toBe(false)
  release()
  expect(await answer).toMatchObject({ code: 0 })
  await closed
})

test('the HTTP receiver stops accepting and answers what is in flight', async () => {
  const { port, release } = holdingPort()
  const receiver = await startHttp(port, { shutdownGraceMs: NEVER_MS })
  const answer = post(receiver.port, '/v1/traces', PROTOBUF, request)
  await port.received(1)
  const closed = receiver[Symbol.asyncDispose]()
  expect(await isOpen(receiver.port)).toBe(false)
  release()
  expect(await answer).toMatchObject({ status: 200 })
  expect((await answer).headers.get('connection')).toBe('close')
  await closed
})

test('connections at rest do not hold up the shutdown', async () => {
  const http = await startHttp(new RecordingPort(), { shutdownGraceMs: NEVER_MS })
  const grpc = await startGrpc(new RecordingPort(), { shutdownGraceMs: NEVER_MS })
  using sender = new GrpcSender(grpc.port)
  await sender.export('traces', request)
  await post(http.port, '/v1/traces', PROTOBUF, request)
  const silent = connect(http.port, '127.0.0.1')
  await once(silent, 'connect')
  await http[Symbol.asyncDispose]()
  await grpc[Symbol.asyncDispose]()
  silent.destroy()
})

test('what is not done when the grace period ends is answered as to be tried again', async () => {
  const stuck = new RecordingPort(() => new Promise<never>(() => undefined))
  const grpc = await startGrpc(stuck, { shutdownGraceMs: 1 })
  const http = await startHttp(stuck, { shutdownGraceMs: 1 })
  using sender = new GrpcSender(grpc.port)
  const overGrpc = sender.export('traces', request)
  const overHttp = post(http.port, '/v1/traces', PROTOBUF, request)
  await stuck.received(2)
  await grpc[Symbol.asyncDispose]()
  await http[Symbol.asyncDispose]()
  expect(await overGrpc).toMatchObject({ code: 14, message: expect.stringContaining('shutting down') })
  expect(await overHttp).toMatchObject({ status: 503 })
})

test('a sender that is still sending when the grace period ends is cut off', async () => {
  const http = await startHttp(new RecordingPort(), { shutdownGraceMs: 1 })
  const socket = connect(http.port, '127.0.0.1').resume()
  socket.on('error', () => undefined)
  await new Promise((written) => socket.write('POST /v1/traces HTTP/1.1\r\nHost: x\r\n', written))
  await http[Symbol.asyncDispose]()
})

test.each([
  ['gRPC', startGrpc],
  ['HTTP', startHttp],
])('the %s receiver can be disposed of twice', async (_, start) => {
  const receiver = await start(new RecordingPort(ACCEPTED))
  await Promise.all([receiver[Symbol.asyncDispose](), receiver[Symbol.asyncDispose]()])
  await receiver[Symbol.asyncDispose]()
})
