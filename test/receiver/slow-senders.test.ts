import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from '@jest/globals'
import { Authority } from '../../lab/harness/certificates.ts'
import { InFlight } from '../../src/receiver/in-flight.ts'
import { holdingPort, RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

const SHORT_MS = 10
const HEAD = 'POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Everything the server says until it closes the connection. */
async function told(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => (text += String(chunk)))
  socket.on('error', () => undefined)
  await once(socket, 'close')
  return text
}

test.each([
  ['a length', `${HEAD}Content-Length: 9\r\n\r\n{`],
  ['chunks', `${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`],
  ['nothing of it', `${HEAD}Content-Length: 9\r\n\r\n`],
  [
    'a compressed part',
    `${HEAD}Content-Encoding: gzip\r\nContent-Length: 99\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0\x03`,
  ],
])('a body with %s that does not end in time is refused for now', async (_, bytes) => {
  const inFlight = new InFlight()
  const port = new RecordingPort()
  await using receiver = await startHttp(port, { requestTimeoutMs: SHORT_MS, inFlight })
  const socket = connect(receiver.port, '127.0.0.1')
  const answer = told(socket)
  socket.write(bytes, 'latin1')
  const [head = '', body = ''] = (await answer).split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 503 /)
  expect(head).toMatch(/^Retry-After: 1\r$/m)
  expect(head).toMatch(/^Connection: close\r$/m)
  expect(JSON.parse(body)).toMatchObject({
    code: 14,
    message: expect.stringMatching(/send it again/),
    details: [{ retryDelay: '1s' }],
  })
  expect(receiver.answered).toMatchObject([
    { transport: 'http', signal: 'traces', outcome: { kind: 'busy', cause: 'time' }, bytes: 0 },
  ])
  expect(port.requests).toEqual([])
  expect(inFlight.bytes).toBe(0)
})

test('so is one that comes byte by byte', async () => {
  await using receiver = await startHttp(new RecordingPort(), { requestTimeoutMs: SHORT_MS })
  const socket = connect(receiver.port, '127.0.0.1')
  const answer = told(socket)
  socket.write(`${HEAD}Content-Length: 9999999\r\n\r\n`)
  while (receiver.answered.length === 0 && !socket.destroyed) {
    socket.write('x')
    await turn()
  }
  expect(await answer).toMatch(/^HTTP\/1\.1 503 /)
})

test('it is refused after the answer to the request before it on that connection', async () => {
  const { port, release } = holdingPort()
  await using receiver = await startHttp(port, { requestTimeoutMs: SHORT_MS })
  const socket = connect(receiver.port, '127.0.0.1')
  const answer = told(socket)
  socket.write(`${HEAD}Content-Length: 2\r\n\r\n{}${HEAD}Content-Length: 9\r\n\r\n{`)
  while (receiver.answered.length === 0 && !socket.destroyed) await turn()
  release()
  expect((await answer).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 503'])
})

test.each([
  ['nothing', ''],
  ['half its headers', HEAD],
])('a sender that sends %s is cut off without an answer', async (_, bytes) => {
  await using receiver = await startHttp(new RecordingPort(), { headersTimeoutMs: SHORT_MS })
  const socket = connect(receiver.port, '127.0.0.1')
  const answer = told(socket)
  socket.write(bytes)
  expect(await answer).toBe('')
  expect(receiver.answered).toEqual([])
})

test('a sender that was refused and never ends its body is cut off', async () => {
  await using receiver = await startHttp(new RecordingPort(), {
    requestTimeoutMs: SHORT_MS,
    maxMessageBytes: 5,
  })
  const socket = connect(receiver.port, '127.0.0.1')
  const answer = told(socket)
  socket.write(`${HEAD}Content-Length: 9\r\n\r\n{`)
  expect(await answer).toMatch(/^HTTP\/1\.1 413 /)
  expect(receiver.answered).toMatchObject([{ outcome: { kind: 'tooLarge' } }])
})

test('a sender that keeps its connection and sends nothing more is cut off', async () => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port, { idleTimeoutMs: 10 })
  const socket = connect(receiver.port, '127.0.0.1').resume()
  socket.write(
    'POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 1\r\n\r\na',
  )
  await once(socket, 'close')
  expect(port.requests).toHaveLength(1)
})

test.each([
  ['gRPC', startGrpc],
  ['HTTP', startHttp],
])('a sender that never ends its TLS handshake is cut off over %s', async (_, start) => {
  const { cert, key } = new Authority().issue()
  const troubles: string[] = []
  await using receiver = await start(new RecordingPort(), {
    tls: { certPem: cert, keyPem: key, handshakeTimeoutMs: 10 },
    onTrouble: (reason) => troubles.push(reason),
  })
  const socket = connect(receiver.port, '127.0.0.1').resume()
  // It may be told of as a reset, since the server leaves what was sent unread.
  const closed = new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve))
  // The beginning of a ClientHello that promises more than ever comes.
  socket.write(Buffer.from([22, 3, 1, 2, 0, 1]))
  await closed
  expect(troubles).toEqual([expect.stringContaining('handshake timeout')])
})
