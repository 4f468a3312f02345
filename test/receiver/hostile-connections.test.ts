import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { post, PROTOBUF } from './http-sender.ts'
import { sendRawGrpc } from './raw-grpc.ts'
import { RecordingPort } from './recording-port.ts'
import { startGrpc, startHttp } from './start-receivers.ts'

const MIB = 1024 * 1024
const TRACES = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
const IDLE = 1_000

async function idleConnections(port: number): Promise<AsyncDisposable> {
  const sockets = Array.from({ length: IDLE }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return {
    [Symbol.asyncDispose]: async () => {
      const closed = sockets.map((socket) => once(socket, 'close'))
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
    },
  }
}

test(`beside ${IDLE} idle connections at each port an honest sender gets through`, async () => {
  const port = new RecordingPort()
  await using http = await startHttp(port)
  await using grpc = await startGrpc(port)
  await using idleAtHttp = await idleConnections(http.port)
  await using idleAtGrpc = await idleConnections(grpc.port)
  expect(await post(http.port, '/v1/traces', PROTOBUF, Buffer.from('x'))).toMatchObject({ status: 200 })
  const payload = gzipSync('x')
  await sendRawGrpc(grpc.port, { path: TRACES, encoding: 'gzip', payload })
  expect(port.requests).toHaveLength(2)
  expect([idleAtHttp, idleAtGrpc]).toHaveLength(2)
})

/** Everything the server says until it closes the connection. */
async function told(socket: Socket): Promise<string> {
  const chunks: string[] = []
  socket.setEncoding('latin1').on('data', (chunk) => chunks.push(String(chunk)))
  socket.on('error', () => undefined)
  await once(socket, 'close')
  return chunks.join('')
}

const HEAD = 'POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n'
const HIDDEN = 'POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx'

test.each([
  [
    'both a length and chunks',
    `${HEAD}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
  ],
  ['two lengths', `${HEAD}Content-Length: 1\r\nContent-Length: 5\r\n\r\nx${HIDDEN}`],
  ['chunks that are not last', `${HEAD}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n${HIDDEN}`],
  ['a length with a sign', `${HEAD}Content-Length: +5\r\n\r\nabcde${HIDDEN}`],
  ['a blank before a colon', `${HEAD}Content-Length : 5\r\n\r\nabcde${HIDDEN}`],
  ['a chunk size that is no number', `${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n${HIDDEN}`],
  ['headers of 20 KiB', `${HEAD}X: ${'x'.repeat(20_000)}\r\n\r\n`],
])('a request with %s is refused and ends its connection', async (_, bytes) => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port)
  const socket = connect(receiver.port, '127.0.0.1')
  const answer = told(socket)
  socket.write(bytes)
  expect(await answer).toMatch(/^HTTP\/1\.1 4(?:00|31) /)
  expect(port.requests).toEqual([])
})

test('many small requests on one connection are each answered', async () => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port)
  const socket = connect(receiver.port, '127.0.0.1')
  const answer = told(socket)
  const one = `${HEAD}Content-Length: 1\r\n\r\nx`
  socket.write(one.repeat(499) + one.replace('Host: x', 'Host: x\r\nConnection: close'))
  expect((await answer).match(/HTTP\/1\.1 200 /g)).toHaveLength(500)
})

test('a gzip bomb over gRPC is refused', async () => {
  const port = new RecordingPort()
  await using receiver = await startGrpc(port, { maxMessageBytes: MIB })
  const payload = gzipSync(Buffer.alloc(100 * MIB))
  expect(await sendRawGrpc(receiver.port, { path: TRACES, encoding: 'gzip', payload })).toMatchObject({
    code: 8,
  })
  expect(port.requests).toEqual([])
})

test('a connection that resets streams as fast as it opens them is ended', async () => {
  const port = new RecordingPort()
  await using receiver = await startGrpc(port)
  const session = connectHttp2(`http://127.0.0.1:${receiver.port}`)
  session.on('error', () => undefined)
  const { promise: closed, resolve } = Promise.withResolvers<unknown>()
  session.once('close', resolve)
  const flood = (): void => {
    if (session.destroyed || session.closed) return
    for (let left = 200; left > 0; left--) {
      const stream = session.request({
        ':method': 'POST',
        ':path': TRACES,
        'content-type': 'application/grpc',
      })
      stream.on('error', () => undefined)
      stream.close(8)
    }
    setImmediate(flood)
  }
  await once(session, 'connect')
  flood()
  await closed
  const payload = gzipSync('x')
  await sendRawGrpc(receiver.port, { path: TRACES, encoding: 'gzip', payload })
  expect(port.requests).toHaveLength(1)
})
