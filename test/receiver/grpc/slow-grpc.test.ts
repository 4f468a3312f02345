import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from '@jest/globals'
import { GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import { callFrame, continuationFrame, dataFrame, RawHttp2 } from '../../../lab/harness/clients/raw-http2.ts'
import { eventually } from '../../../lab/harness/eventually.ts'
import { InFlight } from '../../../src/receiver/in-flight.ts'
import type { GrpcKeepalive } from '../../../src/receiver/otlp/otlp-receiver.ts'
import { holdingPort, RecordingPort } from '../support/recording-port.ts'
import { startGrpc } from '../support/start-receivers.ts'

const OK = 0
const NEVER: GrpcKeepalive = {
  maxConnectionIdleMs: 0,
  maxConnectionAgeMs: 0,
  maxConnectionAgeGraceMs: 0,
  timeMs: 0,
  timeoutMs: 20_000,
}
const SHORT_MS = 100
/** What a slow machine does in time. */
const FAIR_MS = 5_000

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a message that comes byte by byte is ended, and what it held is given back', async () => {
  const inFlight = new InFlight()
  const port = new RecordingPort()
  await using receiver = await startGrpc(port, { inFlight, requestTimeoutMs: SHORT_MS, keepalive: NEVER })
  using raw = await RawHttp2.to(receiver.port)
  raw.socket.write(callFrame(1))
  raw.socket.write(dataFrame(1, Buffer.from([0, 0, 255, 255, 255])))
  while (inFlight.bytes === 0) await turn()
  while (!raw.heard.ended.has(1)) {
    raw.socket.write(dataFrame(1, Buffer.from('x')))
    await turn()
  }
  while (inFlight.bytes > 0) await turn()
  expect(port.requests).toEqual([])
  // Its message too may take longer than it has.
  using sender = new GrpcSender(receiver.port)
  await eventually(async () =>
    expect(await sender.export('traces', Buffer.from('spans'))).toMatchObject({ code: OK }),
  )
})

test('a call without a message is ended', async () => {
  await using receiver = await startGrpc(new RecordingPort(), {
    requestTimeoutMs: SHORT_MS,
    keepalive: NEVER,
  })
  using raw = await RawHttp2.to(receiver.port)
  raw.socket.write(callFrame(1))
  while (!raw.heard.ended.has(1)) await turn()
  expect(receiver.answered).toMatchObject([{ outcome: { kind: 'busy', cause: 'time' }, bytes: 0 }])
})

test.each([
  ['says nothing', ''],
  ['says half a hello', 'PRI * HTTP/2.0\r\n'],
])('a connection that %s is closed', async (_, bytes) => {
  await using receiver = await startGrpc(new RecordingPort(), { firstBytesMs: SHORT_MS, keepalive: NEVER })
  const silent = connect(receiver.port, '127.0.0.1').resume()
  silent.write(bytes)
  await once(silent, 'close')
  while (receiver.connections > 0) await turn()
  expect(receiver.connections).toBe(0)
})

test('a connection that has said hello outlives the time for it', async () => {
  await using receiver = await startGrpc(new RecordingPort(), { firstBytesMs: FAIR_MS, keepalive: NEVER })
  using polite = await RawHttp2.to(receiver.port)
  const silent = connect(receiver.port, '127.0.0.1').resume()
  await once(silent, 'close')
  while (receiver.connections > 1) await turn()
  expect(polite.socket.destroyed).toBe(false)
})

test.each([
  ['answers no ping', []],
  ['begins headers and never ends them', [callFrame(1, false), continuationFrame(1)]],
])('a connection that %s is closed', async (_, frames: Buffer[]) => {
  const keepalive = { ...NEVER, timeMs: SHORT_MS, timeoutMs: SHORT_MS }
  await using receiver = await startGrpc(new RecordingPort(), { keepalive })
  using raw = await RawHttp2.to(receiver.port)
  for (const bytes of frames) raw.socket.write(bytes)
  await raw.closed
  expect(raw.heard.pings).toBe(1)
})

test('a connection that answers pings is kept', async () => {
  const keepalive = { ...NEVER, timeMs: SHORT_MS, timeoutMs: FAIR_MS }
  await using receiver = await startGrpc(new RecordingPort(), { keepalive })
  using sender = new GrpcSender(receiver.port)
  await sender.export('traces', Buffer.from('spans'))
  // One that answers nothing shows that the time for an answer is over.
  for (let closed = 0; closed < 2; closed++) {
    using raw = await RawHttp2.to(receiver.port)
    await raw.closed
  }
  while (receiver.connections > 1) await turn()
  expect(receiver.connections).toBe(1)
})

test('a connection that is old is closed once what is under way on it is answered', async () => {
  const { port, release } = holdingPort()
  const keepalive = { ...NEVER, maxConnectionAgeMs: FAIR_MS }
  await using receiver = await startGrpc(port, { keepalive })
  using raw = await RawHttp2.to(receiver.port)
  raw.socket.write(Buffer.concat([callFrame(1), dataFrame(1, Buffer.from([0, 0, 0, 0, 1, 120]), true)]))
  await port.received(1)
  await eventually(() => expect(raw.heard.goaway).toBe(true))
  expect(raw.heard.ended).toEqual(new Set())
  expect(raw.socket.destroyed).toBe(false)
  release()
  await raw.closed
  expect(raw.heard.ended).toEqual(new Set([1]))
})

test('with a grace period an old connection is closed, answered or not', async () => {
  const { port, release } = holdingPort()
  const keepalive = { ...NEVER, maxConnectionAgeMs: FAIR_MS, maxConnectionAgeGraceMs: SHORT_MS }
  await using receiver = await startGrpc(port, { keepalive })
  using raw = await RawHttp2.to(receiver.port)
  raw.socket.write(Buffer.concat([callFrame(1), dataFrame(1, Buffer.from([0, 0, 0, 0, 1, 120]), true)]))
  await port.received(1)
  await raw.closed
  expect(port.requests).toHaveLength(1)
  release()
})
