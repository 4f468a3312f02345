import { gzipSync } from 'node:zlib'
import { expect, test } from '@jest/globals'
import {
  answersBytes,
  answersStatus,
  endsWithoutStatus,
  type RawBehaviour,
  startRawGrpcBackend,
} from '../../lab/harness/sinks/raw-grpc-backend.ts'
import { openGrpcTransport } from '../../src/exporter/otlp-grpc/grpc-transport.ts'
import { going, grpcSettings, REQUEST } from './transport-settings.ts'

test('a success without a message counts neither as success nor as refusal: the data is kept', async () => {
  await using backend = await startRawGrpcBackend([answersStatus(0)])
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  expect(await transport.send(REQUEST, going())).toEqual({
    kind: 'retry',
    reason:
      'it answers OK without a message, as no OTLP backend does; correct the endpoint, or a proxy before it',
  })
})

async function outcomeOf(behaviour: RawBehaviour): Promise<unknown> {
  await using backend = await startRawGrpcBackend([behaviour])
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  return await transport.send(REQUEST, going())
}

const GZIP = { 'grpc-encoding': 'gzip' }
const message = (flag: number, bytes: Uint8Array): Buffer => {
  const prefix = Buffer.from([flag, 0, 0, 0, 0])
  prefix.writeUInt32BE(bytes.length, 1)
  return Buffer.concat([prefix, bytes])
}
const EMPTY = Buffer.alloc(0)
const HUGE = Buffer.alloc(5 * 1024 * 1024)

test.each([
  ['is no gzip, though it says so', answersBytes(message(1, Buffer.from('none')), GZIP)],
  ['is no deflate', answersBytes(message(1, Buffer.from('none')), { 'grpc-encoding': 'deflate' })],
  ['is compressed as nobody said', answersBytes(message(1, gzipSync('some')))],
  ['is compressed as nobody can', answersBytes(message(1, Buffer.from('none')), { 'grpc-encoding': 'zstd' })],
  ['says that it is huge', answersBytes(Buffer.from([0, 0x7f, 255, 255, 255]))],
  ['is two', answersBytes(Buffer.concat([message(0, EMPTY), message(0, EMPTY)]))],
  ['is huge', answersBytes(message(0, HUGE))],
  ['is huge once unpacked', answersBytes(message(1, gzipSync(HUGE)), GZIP)],
])('a reply that %s is a yes all the same', async (_, behaviour) => {
  expect(await outcomeOf(behaviour)).toEqual({
    kind: 'delivered',
    refused: 0,
    message: 'the backend accepted the request with an unreadable reply',
  })
})

test('a page of the web is no reply of a backend: the data is kept', async () => {
  const page = answersBytes(Buffer.from('<html>Sign in</html>'), { 'content-type': 'text/html' })
  expect(await outcomeOf(page)).toEqual({
    kind: 'retry',
    reason: expect.stringContaining('correct the endpoint'),
  })
})

test.each([
  ['an end without a status', endsWithoutStatus],
  ['a head alone', (stream) => stream.respond({ ':status': 200 }, { endStream: true })],
  ['a redirect', (stream) => stream.respond({ ':status': 302, location: '/login' }, { endStream: true })],
] as [string, RawBehaviour][])('%s says nothing of the data, which is kept', async (_, behaviour) => {
  expect(await outcomeOf(behaviour)).toMatchObject({ kind: 'retry' })
})

test('what a backend refuses in the words of the client is refused', async () => {
  const said = { 'grpc-message': 'Received message larger than max (4194309 vs 4194304)' }
  expect(await outcomeOf(answersStatus(8, said))).toMatchObject({ kind: 'refused', splittable: true })
  const within: RawBehaviour = (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '8', ...said }))
    stream.end()
  }
  expect(await outcomeOf(within)).toMatchObject({ kind: 'refused', splittable: true })
})

test('a status that nobody knows is named by its number', async () => {
  expect(await outcomeOf(answersStatus(99, { 'grpc-message': 'no' }))).toEqual({
    kind: 'refused',
    splittable: false,
    reason: 'status 99: no',
  })
})
