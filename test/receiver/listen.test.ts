import { test, expect } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

const receivers = [
  ['grpc', startGrpc],
  ['http', startHttp],
] as const

test.each(receivers)('an occupied port is named, with what to do about it (%s)', async (transport, start) => {
  await using first = await start(new RecordingPort())
  await expect(start(new RecordingPort(), { port: first.port, receiver: 'otlp/2' })).rejects.toThrow(
    `receiver otlp/2 cannot listen for OTLP/${transport} on 127.0.0.1:${first.port}: the address is already in use; ` +
      `stop the program that holds it or choose another port (receivers::otlp/2::protocols::${transport}::endpoint)`,
  )
})

test.each(receivers)('the port of a receiver that was closed is free again (%s)', async (_, start) => {
  const first = await start(new RecordingPort())
  await first[Symbol.asyncDispose]()
  await using second = await start(new RecordingPort(), { port: first.port })
  expect(second.port).toBe(first.port)
})

test.each(receivers)(
  'localhost is the IPv4 loopback, so that no other can hold it (%s)',
  async (_, start) => {
    await using first = await start(new RecordingPort(), { host: 'localhost' })
    const socket = connect(first.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.destroy()
    await expect(start(new RecordingPort(), { host: 'localhost', port: first.port })).rejects.toThrow(
      'already in use',
    )
  },
)

test.each([
  ['192.0.2.1', 'this machine has no such address'],
  ['no-such-host.invalid', 'the host name'],
])('the host %s cannot be bound: %s', async (host, reason) => {
  for (const [, start] of receivers)
    await expect(start(new RecordingPort(), { host })).rejects.toThrow(reason)
})

test.each(receivers)('an IPv6 address may be in brackets (%s)', async (_, start) => {
  await using receiver = await start(new RecordingPort(), { host: '[::1]' })
  const socket = connect(receiver.port, '::1')
  await once(socket, 'connect')
  socket.destroy()
})
