import { once } from 'node:events'
import { type ClientHttp2Session, connect } from 'node:http2'
import { connect as connectSocket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import { COMPRESSED, GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import { EXPORT_METHODS } from '../../../lab/harness/export-methods.ts'
import { InFlight } from '../../../src/receiver/in-flight.ts'
import { holdingPort, RecordingPort } from '../support/recording-port.ts'
import { startGrpc } from '../support/start-receivers.ts'

const OK = 0
const DEADLINE_EXCEEDED = 4
const UNAVAILABLE = 14
const KIB = 1024

/** The head of a message that says how long it will be. */
function frameHead(bytes: number, flag = 0): Buffer {
  const head = Buffer.from([flag, 0, 0, 0, 0])
  head.writeUInt32BE(bytes, 1)
  return head
}

/** Opens a call and sends the first bytes of its message. */
function begin(session: ClientHttp2Session, bytes: Buffer) {
  const stream = session.request({
    ':method': 'POST',
    ':path': EXPORT_METHODS.traces.path,
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  stream.on('error', () => undefined)
  stream.write(bytes)
  return stream
}

async function reached(inFlight: InFlight, bytes: number): Promise<void> {
  while (inFlight.bytes < bytes) await new Promise((resolve) => setImmediate(resolve))
}

test('a message counts toward the budget while it is coming', async () => {
  const inFlight = new InFlight(100 * KIB)
  await using receiver = await startGrpc(new RecordingPort(), { inFlight })
  const session = connect(`http://127.0.0.1:${receiver.port}`)
  const slow = begin(session, Buffer.concat([frameHead(1_000 * KIB), Buffer.alloc(60 * KIB)]))
  await reached(inFlight, 60 * KIB)
  using sender = new GrpcSender(receiver.port)
  expect(await sender.export('traces', Buffer.alloc(70 * KIB))).toMatchObject({ code: UNAVAILABLE })
  expect(await sender.export('traces', Buffer.alloc(10 * KIB))).toMatchObject({ code: OK })
  slow.close()
  session.close()
  while (inFlight.bytes > 0) await new Promise((resolve) => setImmediate(resolve))
  expect(await sender.export('traces', Buffer.alloc(50 * KIB))).toMatchObject({ code: OK })
})

test('what a message grows to counts while it is decompressed', async () => {
  const { port, release } = holdingPort()
  const inFlight = new InFlight(100 * KIB)
  await using receiver = await startGrpc(port, { inFlight })
  using sender = new GrpcSender(receiver.port, COMPRESSED)
  const first = sender.export('traces', Buffer.alloc(60 * KIB))
  await port.received(1)
  expect(gzipSync(Buffer.alloc(500 * KIB)).length).toBeLessThan(KIB)
  expect(await sender.export('traces', Buffer.alloc(500 * KIB))).toMatchObject({ code: UNAVAILABLE })
  expect(port.requests.length).toBe(1)
  release()
  expect(await first).toMatchObject({ code: OK })
})

test('a call whose message does not come in time is ended and counted, and holds nothing any more', async () => {
  const inFlight = new InFlight()
  await using receiver = await startGrpc(new RecordingPort(), { inFlight, requestTimeoutMs: 50 })
  const session = connect(`http://127.0.0.1:${receiver.port}`)
  const slow = begin(session, Buffer.concat([frameHead(100), Buffer.alloc(50)]))
  const [headers] = (await once(slow, 'response')) as [Record<string, string>]
  expect(Number(headers['grpc-status'])).toBe(DEADLINE_EXCEEDED)
  expect(headers['grpc-message']).toContain('send%20it%20again')
  expect(receiver.answered).toMatchObject([{ outcome: { kind: 'busy', cause: 'time' }, bytes: 0 }])
  await once(slow, 'close')
  session.close()
  while (inFlight.bytes > 0) await new Promise((resolve) => setImmediate(resolve))
})

test('while the budget is full, a call is refused before its message comes', async () => {
  const { port, release } = holdingPort()
  const inFlight = new InFlight(100 * KIB)
  await using receiver = await startGrpc(port, { inFlight })
  using sender = new GrpcSender(receiver.port)
  const head = frameHead(0).length
  const held = [60, 40].map((kib) => sender.export('traces', Buffer.alloc(kib * KIB - head)))
  await port.received(2)
  expect(inFlight.bytes).toBe(inFlight.maxBytes)
  const session = connect(`http://127.0.0.1:${receiver.port}`)
  const [headers] = (await once(begin(session, Buffer.alloc(0)), 'response')) as [Record<string, string>]
  expect(Number(headers['grpc-status'])).toBe(UNAVAILABLE)
  session.destroy()
  release()
  await Promise.all(held)
  while (inFlight.bytes > 0) await new Promise((resolve) => setImmediate(resolve))
})

test.each([
  [7, 7],
  [undefined, 100],
])('of %p calls at a time a connection holds %i at most', async (maxConcurrentStreams, most) => {
  await using receiver = await startGrpc(
    new RecordingPort(),
    maxConcurrentStreams === undefined ? {} : { maxConcurrentStreams },
  )
  const session = connect(`http://127.0.0.1:${receiver.port}`)
  const [settings] = (await once(session, 'remoteSettings')) as [{ maxConcurrentStreams?: number }]
  expect(settings.maxConcurrentStreams).toBe(most)
  session.close()
})

test('a connection at rest for too long is closed, and the sender opens another', async () => {
  const keepalive = {
    maxConnectionIdleMs: 500,
    maxConnectionAgeMs: 0,
    maxConnectionAgeGraceMs: 0,
    timeMs: 0,
    timeoutMs: 20_000,
  }
  await using receiver = await startGrpc(new RecordingPort(), { keepalive })
  const silent = connectSocket(receiver.port, '127.0.0.1').resume()
  await once(silent, 'close')
  using sender = new GrpcSender(receiver.port)
  expect(await sender.export('traces', Buffer.alloc(1))).toMatchObject({ code: OK })
  while (receiver.connections > 0) await new Promise((resolve) => setImmediate(resolve))
  expect(await sender.export('traces', Buffer.alloc(1))).toMatchObject({ code: OK })
})
