import { test, expect } from '@jest/globals'
import { once } from 'node:events'
import { connect } from 'node:net'
import { RecordingPort } from './recording-port.ts'
import { startHttp } from './start-receivers.ts'

test.each([
  ['headers', { headersTimeoutMs: 10 }, 'POST /v1/traces HTTP/1.1\r\nHost: x\r\n'],
  ['body', { requestTimeoutMs: 10 }, 'POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\na'],
])('a sender that never ends its %s is cut off', async (_, timeouts, bytes) => {
  await using receiver = await startHttp(new RecordingPort(), timeouts)
  const socket = connect(receiver.port, '127.0.0.1').resume()
  socket.write(bytes)
  await once(socket, 'close')
  expect(receiver.answered.map(({ outcome }) => outcome.kind)).not.toContain('accepted')
})
