import { expect, test } from '@jest/globals'
import { once } from 'node:events'
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import { sendRawGrpc } from '../../lab/harness/clients/raw-grpc.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

const MIB = 1024 * 1024
const TRACES = '/opentelemetry.proto.collector.trace.v1.TraceService/Export'
/** About twice as many as may be open at a port by default. */
const IDLE = 2_000
const PLACES = 1_024 + 64
/** So many wait to be accepted at once without being asked to come again. */
const WAVE = 250
const OK = 0
/** However long a slow machine takes, none is closed for its silence. */
const PATIENT_MS = 120_000

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Opens connections that say nothing. */
async function idleConnections(
  port: number,
  count: number,
): Promise<AsyncDisposable & { sockets: Socket[] }> {
  const sockets: Socket[] = []
  const closed: Promise<unknown>[] = []
  while (sockets.length < count) {
    const wave = Array.from({ length: Math.min(WAVE, count - sockets.length) }, () =>
      connect(port, '127.0.0.1')
        .on('error', () => undefined)
        .resume(),
    )
    sockets.push(...wave)
    closed.push(...wave.map((socket) => once(socket, 'close')))
    await Promise.all(wave.map((socket) => once(socket, 'connect')))
  }
  return {
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await Promise.all(closed)
    },
  }
}

test(`${IDLE} silent connections at the gRPC port keep out nobody who is there, nor who comes`, async () => {
  await using receiver = await startGrpc(new RecordingPort(), { firstBytesMs: PATIENT_MS })
  using sender = new GrpcSender(receiver.port)
  expect(await sender.export('traces', Buffer.from('x'))).toMatchObject({ code: OK })
  await using idle = await idleConnections(receiver.port, IDLE)
  while (receiver.dropped.length < IDLE + 1 - PLACES) await turn()
  expect(receiver.connections).toBe(PLACES)
  expect(await sender.export('traces', Buffer.from('x'))).toMatchObject({ code: OK })
  expect(idle.sockets.filter((socket) => !socket.destroyed).length).toBeGreaterThan(0)
  using late = new GrpcSender(receiver.port)
  expect(await late.export('traces', Buffer.from('x'))).toMatchObject({ code: OK })
})

test(`${IDLE} silent connections at the HTTP port keep out nobody who is there, nor who comes`, async () => {
  await using receiver = await startHttp(new RecordingPort(), {
    headersTimeoutMs: PATIENT_MS,
    requestTimeoutMs: PATIENT_MS,
  })
  using agent = agentOfOne()
  expect(await postThrough(agent, receiver.port)).toBe(200)
  await using idle = await idleConnections(receiver.port, IDLE)
  while (receiver.dropped.length < IDLE + 1 - PLACES) await turn()
  expect(receiver.connections).toBe(PLACES)
  expect(await postThrough(agent, receiver.port)).toBe(200)
  expect(idle.sockets.filter((socket) => !socket.destroyed).length).toBeGreaterThan(0)
  expect((await post(receiver.port, '/v1/traces', PROTOBUF, 'x')).status).toBe(200)
})

test('idle connections that hold every place are ended in time, and a new sender gets through', async () => {
  const places = { maxConnections: 50 }
  await using grpc = await startGrpc(new RecordingPort(), { ...places, firstBytesMs: 100 })
  await using http = await startHttp(new RecordingPort(), { ...places, headersTimeoutMs: 100 })
  for (const { port } of [grpc, http]) {
    await using idle = await idleConnections(port, 50)
    while (idle.sockets.some((socket) => !socket.destroyed)) await turn()
  }
  // It too may take longer for its first bytes than it has.
  using sender = new GrpcSender(grpc.port)
  await eventually(async () =>
    expect(await sender.export('traces', Buffer.from('x'))).toMatchObject({ code: OK }),
  )
  await eventually(async () => expect((await post(http.port, '/v1/traces', PROTOBUF, 'x')).status).toBe(200))
})

/** Keeps one connection open. */
function agentOfOne(): Agent & Disposable {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return Object.assign(agent, { [Symbol.dispose]: () => agent.destroy() })
}

async function postThrough(agent: Agent, port: number): Promise<number | undefined> {
  const request = httpRequest({
    agent,
    port,
    host: '127.0.0.1',
    path: '/v1/traces',
    method: 'POST',
    headers: PROTOBUF,
  })
  request.end('x')
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return response.statusCode
}

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
