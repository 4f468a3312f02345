import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { RecordingPort } from './recording-port.ts'
import { startGrpc, startHttp } from './start-receivers.ts'

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
