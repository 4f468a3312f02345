import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import { JSON_TYPE, post, PROTOBUF, send } from '../../../lab/harness/clients/http-sender.ts'
import { InFlight } from '../../../src/receiver/in-flight.ts'
import { lz4Frame, lz4Zeros } from '../codings/as-lz4.ts'
import { asSnappy, SNAPPY_STREAM, snappyChunk } from '../codings/as-snappy.ts'
import { holdingPort, RecordingPort } from '../support/recording-port.ts'
import { startHttp } from '../support/start-receivers.ts'

const MIB = 1024 * 1024
const request = Buffer.from('any bytes at all')
const steps = [{ literal: request, back: 1, length: 0 }]
const framed = Buffer.concat([SNAPPY_STREAM, snappyChunk(0, asSnappy(steps), request)])

/** A budget that remembers the most bytes any one request held. */
class WatchedBudget extends InFlight {
  peak = 0

  override open() {
    const reservation = super.open()
    const take = reservation.take.bind(reservation)
    reservation.take = (bytes) => {
      const taken = take(bytes)
      this.peak = Math.max(this.peak, this.bytes)
      return taken
    }
    return reservation
  }
}

test.each([
  ['identity', request],
  ['gzip', gzipSync(request)],
  ['GZIP', gzipSync(request)],
  ['x-gzip', gzipSync(request)],
  ['deflate', deflateSync(request)],
  ['zlib', deflateSync(request)],
  ['zstd', zstdCompressSync(request)],
  ['snappy', asSnappy(steps)],
  ['Snappy', framed],
  ['x-snappy-framed', framed],
  ['lz4', lz4Frame([{ raw: request }], { content: request })],
])('takes Content-Encoding %s', async (encoding, body) => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port)
  const headers = { ...PROTOBUF, 'content-encoding': encoding }
  expect(await post(receiver.port, '/v1/traces', headers, body)).toMatchObject({ status: 200 })
  expect(port.requests).toEqual([{ signal: 'traces', request }])
})

test.each([
  ['gzip', Buffer.from('not gzip')],
  ['gzip', gzipSync(request).subarray(0, 20)],
  ['gzip', Buffer.alloc(0)],
  ['zstd', zstdCompressSync(request).subarray(0, 20)],
  ['zstd', Buffer.from('not zstd')],
  ['snappy', request],
  ['snappy', Buffer.alloc(0)],
  ['x-snappy-framed', request],
  ['x-snappy-framed', framed.subarray(0, 20)],
  ['lz4', request],
  ['lz4', lz4Frame([{ raw: request }]).subarray(0, 20)],
  ['constructor', request],
  ['gzip, gzip', gzipSync(gzipSync(request))],
])('a body that is not %s is malformed', async (encoding, body) => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port)
  const answer = await post(receiver.port, '/v1/traces', { ...JSON_TYPE, 'content-encoding': encoding }, body)
  expect(answer).toMatchObject({ status: 400, type: 'application/json' })
  expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 3 })
  expect(port.requests).toEqual([])
  expect(receiver.answered).toMatchObject([{ outcome: { kind: 'malformed' }, bytes: 0 }])
})

test('64 MiB are taken and 65 MiB refused for good', async () => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port)
  expect(await post(receiver.port, '/v1/traces', PROTOBUF, Buffer.alloc(64 * MIB))).toMatchObject({
    status: 200,
  })
  const answer = await post(receiver.port, '/v1/traces', JSON_TYPE, Buffer.alloc(65 * MIB))
  expect(answer).toMatchObject({ status: 413, type: 'application/json' })
  expect(JSON.parse(answer.body.toString())).toMatchObject({ code: 8 })
  expect(port.requests).toHaveLength(1)
  expect(receiver.answered).toMatchObject([
    { outcome: { kind: 'accepted' } },
    { outcome: { kind: 'tooLarge' } },
  ])
})

test('a body of unknown length is cut off at the limit', async () => {
  await using receiver = await startHttp(new RecordingPort(), { maxMessageBytes: 1000 })
  expect(await streamed(receiver.port, Buffer.alloc(1000))).toMatchObject({ status: 200 })
  expect(await streamed(receiver.port, Buffer.alloc(1001))).toMatchObject({ status: 413 })
})

test('a compressed body of unknown length is cut off at the limit, though it inflates to nothing', async () => {
  await using receiver = await startHttp(new RecordingPort(), { maxMessageBytes: 1000 })
  const empty = gzipSync('')
  const members = (count: number) => Buffer.concat(Array.from({ length: count }, () => empty))
  const most = Math.floor(1000 / empty.length)
  const gzip = { 'content-encoding': 'gzip' }
  expect(await streamed(receiver.port, members(most), gzip)).toMatchObject({ status: 200 })
  expect(await streamed(receiver.port, members(most + 1), gzip)).toMatchObject({ status: 413 })
})

/** POSTs a body without saying how long it is. */
function streamed(port: number, body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  return send(port, '/v1/traces', {
    method: 'POST',
    headers: { ...PROTOBUF, ...headers },
    body: new Blob([body]).stream(),
    duplex: 'half',
  })
}

const page = Buffer.alloc(65_536, 'a')
const chunk = snappyChunk(0, asSnappy([{ literal: Buffer.from('a'), back: 1, length: 65_535 }]), page)

test.each([
  ['gzip', gzipSync(Buffer.alloc(100 * MIB))],
  ['zstd', zstdCompressSync(Buffer.alloc(100 * MIB))],
  ['gzip', Buffer.concat(Array.from({ length: 60_000 }, () => gzipSync('')))],
  ['snappy', asSnappy([{ literal: request, back: 16, length: 15 * MIB }])],
  ['x-snappy-framed', Buffer.concat([SNAPPY_STREAM, ...Array.from({ length: 200 }, () => chunk)])],
  ['lz4', lz4Zeros(100)],
])('a %s bomb is refused before it holds more than the limit', async (encoding, bomb) => {
  const inFlight = new WatchedBudget()
  await using receiver = await startHttp(new RecordingPort(), { maxMessageBytes: MIB, inFlight })
  const headers = { ...PROTOBUF, 'content-encoding': encoding }
  expect(await post(receiver.port, '/v1/traces', headers, bomb)).toMatchObject({ status: 413 })
  expect(inFlight.peak).toBeLessThanOrEqual(MIB)
  expect(inFlight.bytes).toBe(0)
})

/** A zstd frame (RFC 8878, section 3.1.1) of a few bytes for which a decoder is asked to keep a window of 2^`windowLog`. */
function zstdFrame(windowLog: number): Buffer {
  const [lastRawBlock, windowLogOfZero] = [1, 10]
  return Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, (windowLog - windowLogOfZero) << 3]),
    Buffer.from([(request.length << 3) | lastRawBlock, 0, 0]),
    request,
  ])
}

test('a zstd body may ask for a window of 8 MiB and no more', async () => {
  const port = new RecordingPort()
  await using receiver = await startHttp(port)
  const zstd = { ...PROTOBUF, 'content-encoding': 'zstd' }
  expect(await post(receiver.port, '/v1/traces', zstd, zstdFrame(23))).toMatchObject({ status: 200 })
  expect(await post(receiver.port, '/v1/traces', zstd, zstdFrame(24))).toMatchObject({ status: 400 })
  expect(port.requests).toEqual([{ signal: 'traces', request }])
})

test('a sender that is still sending gets its answer, and the connection serves the next request', async () => {
  await using receiver = await startHttp(new RecordingPort(), { maxMessageBytes: MIB })
  const socket = connect(receiver.port, '127.0.0.1').setEncoding('latin1')
  const head = (length: number) =>
    `POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\nContent-Length: ${length}\r\n\r\n`
  socket.write(head(2 * MIB))
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 413 /)
  socket.write(Buffer.alloc(2 * MIB))
  socket.write(`${head(3)}abc`)
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 200 /)
  socket.destroy()
})

test('while it stops, it waits for the rest of a refused body and for nothing after that', async () => {
  // It would be waited for until long after this test is over.
  await using receiver = await startHttp(new RecordingPort(), {
    maxMessageBytes: MIB,
    shutdownGraceMs: 600_000,
  })
  const socket = connect(receiver.port, '127.0.0.1').setEncoding('latin1')
  socket.write('POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n')
  socket.write(`Content-Length: ${2 * MIB}\r\n\r\n`)
  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 413 /)
  const stopped = receiver[Symbol.asyncDispose]()
  const closed = once(socket, 'close')
  socket.write(Buffer.alloc(2 * MIB))
  await stopped
  await closed
}, 60_000)

test('a sender that hangs up leaves nothing behind', async () => {
  const port = new RecordingPort()
  const inFlight = new InFlight()
  await using receiver = await startHttp(port, { inFlight })
  const socket = connect(receiver.port, '127.0.0.1')
  socket.write('POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n')
  socket.write('Content-Length: 100\r\n\r\nabc')
  await once(socket, 'connect')
  socket.destroy()
  await receiver[Symbol.asyncDispose]()
  while (inFlight.bytes > 0) await setImmediate()
  expect(port.requests).toEqual([])
  expect(receiver.answered).toEqual([])
})

test('a request that would exceed the budget is busy, and goes through once there is room', async () => {
  const { port, release } = holdingPort()
  const inFlight = new InFlight(1000)
  await using receiver = await startHttp(port, { inFlight })
  const first = post(receiver.port, '/v1/traces', PROTOBUF, Buffer.alloc(900))
  await port.received(1)
  const refused = await post(receiver.port, '/v1/traces', JSON_TYPE, Buffer.alloc(200))
  expect(refused).toMatchObject({ status: 503 })
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.body.toString()).toContain('"retryDelay":"1s"')
  const announcing = connect(receiver.port, '127.0.0.1').setEncoding('latin1')
  announcing.write(
    'POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 200\r\n\r\n',
  )
  expect(String(await once(announcing, 'data'))).toMatch(/^HTTP\/1\.1 503 /)
  announcing.destroy()
  const inflated = { ...PROTOBUF, 'content-encoding': 'gzip' }
  const bomb = gzipSync(Buffer.alloc(200))
  expect(await post(receiver.port, '/v1/traces', inflated, bomb)).toMatchObject({ status: 503 })
  release()
  expect(await first).toMatchObject({ status: 200 })
  expect(inFlight.bytes).toBe(0)
  expect(await post(receiver.port, '/v1/traces', PROTOBUF, Buffer.alloc(200))).toMatchObject({ status: 200 })
})
