import { expect, test } from '@jest/globals'
import { GrpcSender } from '../../../lab/harness/clients/grpc-sender.ts'
import {
  callFrame,
  continuationFrame,
  pingFrame,
  RawHttp2,
  resetFrame,
  settingsFrame,
} from '../../../lab/harness/clients/raw-http2.ts'
import { RecordingPort } from '../support/recording-port.ts'
import { startGrpc } from '../support/start-receivers.ts'

const OK = 0
/** Far more than fit into what the system keeps of answers nobody reads. */
const MAX_BYTES = 64 * 1024 * 1024
const RESETS = 5_000

function* upTo(bytes: Buffer): Generator<Buffer> {
  const many = Buffer.concat(Array.from({ length: 1_000 }, () => bytes))
  for (let sent = 0; sent < MAX_BYTES; sent += many.length) yield many
}

function* rapidResets(): Generator<Buffer> {
  for (let at = 0; at < RESETS; at++) {
    const stream = 2 * at + 1
    yield Buffer.concat([callFrame(stream), resetFrame(stream)])
  }
}

function* endlessHeaders(): Generator<Buffer> {
  yield callFrame(1, false)
  yield* upTo(continuationFrame(1))
}

test.each([
  ['streams reset as soon as they are opened', rapidResets, true],
  ['headers without an end', endlessHeaders, true],
  ['pings whose answers nobody reads', () => upTo(pingFrame()), false],
  ['settings whose answers nobody reads', () => upTo(settingsFrame()), false],
])('a flood of %s ends its connection, and no other', async (_, frames, reads) => {
  const port = new RecordingPort()
  await using receiver = await startGrpc(port)
  using sender = new GrpcSender(receiver.port)
  expect(await sender.export('traces', Buffer.from('before'))).toMatchObject({ code: OK })
  using raw = await RawHttp2.to(receiver.port)
  if (!reads) raw.socket.pause()
  const flooding = raw.flood(frames())
  expect(await sender.export('traces', Buffer.from('beside'))).toMatchObject({ code: OK })
  await flooding
  await raw.closed
  expect(await sender.export('traces', Buffer.from('after'))).toMatchObject({ code: OK })
  expect(port.requests.map(({ request }) => request.toString())).toEqual(['before', 'beside', 'after'])
  while (receiver.connections > 1) await new Promise((resolve) => setImmediate(resolve))
})
