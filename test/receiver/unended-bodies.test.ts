import { once } from 'node:events'
import { type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { constants, createGzip } from 'node:zlib'
import { expect, test } from '@jest/globals'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { post, PROTOBUF } from '../../lab/harness/clients/http-sender.ts'
import { EXPORT_METHODS } from '../../lab/harness/export-methods.ts'
import { InFlight } from '../../src/receiver/in-flight.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

const KIB = 1024
/** An eighth of it is the share of each. */
const BUDGET = 100 * KIB
const HEAD = 'POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n'
const OK = 0
const DEADLINE_EXCEEDED = 4
const UNAVAILABLE = 14

/** All that is said to a sender over HTTP, which has sent this and no more. */
function unended(
  port: number,
  ...bytes: readonly (string | Buffer)[]
): { socket: Socket; told: Promise<string> } {
  const socket = connect(port, '127.0.0.1').on('error', () => undefined)
  for (const piece of bytes) socket.write(piece)
  return { socket, told: once(socket, 'data').then(([data]) => String(data)) }
}

/** Bytes that inflate to so many, and say of no end. */
async function unendedGzip(bytes: number): Promise<Buffer> {
  const gzip = createGzip({ level: 9 })
  const parts: Buffer[] = []
  gzip.on('data', (part: Buffer) => parts.push(part))
  gzip.write(Buffer.alloc(bytes))
  const flushed = Promise.withResolvers<undefined>()
  gzip.flush(constants.Z_SYNC_FLUSH, () => flushed.resolve(undefined))
  await flushed.promise
  gzip.destroy()
  return Buffer.concat(parts)
}

function call(port: number, message: Buffer, length: number): ClientHttp2Stream {
  const session = connectHttp2(`http://127.0.0.1:${port}`)
  const stream = session.request({
    ':method': 'POST',
    ':path': EXPORT_METHODS.traces.path,
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  const head = Buffer.alloc(5)
  head.writeUInt32BE(length, 1)
  stream.on('error', () => undefined).write(Buffer.concat([head, message]))
  stream.once('close', () => session.close())
  return stream
}

async function reached(inFlight: InFlight, bytes: number): Promise<void> {
  while (inFlight.bytes < bytes) await new Promise((resolve) => setImmediate(resolve))
}

test.each(['', 'gzip'])(
  'over HTTP a body that is not ended gives way to what others send (%s)',
  async (coding) => {
    const inFlight = new InFlight(BUDGET)
    await using receiver = await startHttp(new RecordingPort(), { inFlight })
    const bytes = coding === '' ? Buffer.alloc(90 * KIB) : await unendedGzip(90 * KIB)
    const encoding = coding === '' ? '' : `Content-Encoding: ${coding}\r\n`
    const hog = unended(receiver.port, `${HEAD}${encoding}Content-Length: ${bytes.length + 1}\r\n\r\n`, bytes)
    await reached(inFlight, 90 * KIB)
    const victim = await post(receiver.port, '/v1/traces', PROTOBUF, Buffer.alloc(11 * KIB))
    expect(victim.status).toBe(200)
    expect(await hog.told).toMatch(/^HTTP\/1\.1 503 /)
    expect(inFlight.bytes).toBe(0)
    hog.socket.destroy()
  },
)

test('over gRPC a message that is not ended gives way to what others send', async () => {
  const inFlight = new InFlight(BUDGET)
  await using receiver = await startGrpc(new RecordingPort(), { inFlight })
  const hog = call(receiver.port, Buffer.alloc(60 * KIB), 64 * KIB)
  const other = call(receiver.port, Buffer.alloc(35 * KIB), 64 * KIB)
  await reached(inFlight, 95 * KIB)
  const told = once(hog, 'response') as Promise<[Record<string, string>]>
  using sender = new GrpcSender(receiver.port)
  expect(await sender.export('traces', Buffer.alloc(11 * KIB))).toMatchObject({ code: OK })
  const [headers] = await told
  expect(Number(headers['grpc-status'])).toBe(UNAVAILABLE)
  expect(other.destroyed).toBe(false)
  other.close()
})

test('over HTTP a body of which nothing more comes ends long before its time is up', async () => {
  await using receiver = await startHttp(new RecordingPort(), { bodyPaceMs: 20, requestTimeoutMs: 0 })
  const { told, socket } = unended(receiver.port, `${HEAD}Content-Length: 9999\r\n\r\n`, Buffer.alloc(2_000))
  expect(await told).toMatch(/^HTTP\/1\.1 503 /)
  expect(receiver.answered).toMatchObject([{ outcome: { kind: 'busy', cause: 'time' } }])
  socket.destroy()
})

test('over gRPC a message of which nothing more comes ends long before its time is up', async () => {
  await using receiver = await startGrpc(new RecordingPort(), { bodyPaceMs: 20, requestTimeoutMs: 0 })
  const stream = call(receiver.port, Buffer.alloc(2_000), 9_999)
  const [headers] = (await once(stream, 'response')) as [Record<string, string>]
  expect(Number(headers['grpc-status'])).toBe(DEADLINE_EXCEEDED)
  stream.close()
})
