import { readFileSync } from 'node:fs'
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { gunzipSync } from 'node:zlib'
import { ServerCredentials } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { openGrpcTransport } from '../../src/exporter/otlp-grpc/grpc-transport.ts'
import { startGrpcBackend, tookAll } from '../../lab/harness/sinks/grpc-backend.ts'
import {
  cancelsTheStream,
  endsWithoutStatus,
  failsInTheStream,
  startRawGrpcBackend,
} from '../../lab/harness/sinks/raw-grpc-backend.ts'
import { startRawBackend } from '../../lab/harness/sinks/raw-backend.ts'
import { going, grpcSettings, REQUEST } from './transport-settings.ts'

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const CERT = here('tls/cert.pem')
const KEY = here('tls/key.pem')
const tls = { insecure: false, insecureSkipVerify: false }

/** HTTP/2 under gRPC, to see what the library hides. */
async function startHttp2Backend(
  onStream: (
    stream: ServerHttp2Stream,
    body: Buffer,
    connection: number,
    headers: Record<string, unknown>,
  ) => void,
): Promise<AsyncDisposable & { port: number }> {
  const server: Http2Server = createServer()
  const sessions: ServerHttp2Session[] = []
  server.on('session', (session) => {
    sessions.push(session)
    session.on('error', () => undefined)
  })
  server.on('stream', (stream, headers) => {
    const chunks: Buffer[] = []
    stream.on('error', () => undefined)
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      // Ended and destroyed at once, when the connection is gone.
      if (stream.destroyed) return
      const connection =
        stream.session === undefined ? -1 : sessions.indexOf(stream.session as ServerHttp2Session)
      onStream(stream, Buffer.concat(chunks), connection, headers)
    })
  })
  const listening = Promise.withResolvers<undefined>()
  server.listen(0, '127.0.0.1', () => listening.resolve(undefined))
  await listening.promise
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]() {
      for (const session of sessions) session.destroy()
      server.close()
      return Promise.resolve()
    },
  }
}

function replyEmpty(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  stream.end(Buffer.alloc(5))
}

test('gzip is what goes over the wire', async () => {
  const seen: { encoding: unknown; body: Buffer }[] = []
  await using backend = await startHttp2Backend((stream, body, _, headers) => {
    seen.push({ encoding: headers['grpc-encoding'], body })
    replyEmpty(stream)
  })
  await using zipped = openGrpcTransport(grpcSettings(backend.port, { compression: 'gzip' }))
  await using plain = openGrpcTransport(grpcSettings(backend.port, { compression: 'none' }))
  for (const transport of [zipped, plain]) {
    expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered' })
  }
  expect(seen[0]?.encoding).toBe('gzip')
  expect(seen[0]?.body[0]).toBe(1)
  expect(gunzipSync(seen[0]!.body.subarray(5))).toEqual(Buffer.from(REQUEST))
  expect(seen[1]?.body[0]).toBe(0)
  expect(seen[1]?.body.subarray(5)).toEqual(Buffer.from(REQUEST))
})

test.each([
  ['ends without a status', endsWithoutStatus],
  ['fails', failsInTheStream],
  ['is cancelled', cancelsTheStream],
])('a stream that %s means retry, since nothing was refused', async (_, behaviour) => {
  await using backend = await startRawGrpcBackend([behaviour])
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  expect(await transport.send(Buffer.alloc(0), going())).toMatchObject({ kind: 'retry' })
  expect(await transport.send(Buffer.alloc(0), going())).toMatchObject({ kind: 'delivered' })
})

test('after a timeout the next send uses another connection', async () => {
  let calls = 0
  await using backend = await startHttp2Backend((stream, _, connection) => {
    calls += 1
    if (connection > 0 || calls === 1) replyEmpty(stream)
  })
  const settings = grpcSettings(backend.port)
  await using transport = openGrpcTransport(settings)
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered' })
  settings.timeoutMs = 50
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'retry' })
  settings.timeoutMs = 20_000
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered' })
})

test('a connection still being made is kept, however many sends time out on it', async () => {
  await using frozen = await startRawBackend(() => undefined)
  await using transport = openGrpcTransport(grpcSettings(frozen.port, { timeoutMs: 50 }))
  for (let i = 0; i < 3; i += 1) {
    expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'retry' })
  }
  expect(frozen.sockets.length).toBeLessThanOrEqual(1)
})

test.each([
  [503, { kind: 'retry' }],
  [403, { kind: 'refused', splittable: false }],
])('a proxy that answers HTTP %i instead of gRPC', async (status, outcome) => {
  await using backend = await startHttp2Backend((stream) => {
    stream.respond({ ':status': status, 'content-type': 'text/html' })
    stream.end('<html>not gRPC</html>')
  })
  await using transport = openGrpcTransport(grpcSettings(backend.port))
  expect(await transport.send(REQUEST, going())).toMatchObject(outcome)
})

test('TLS trusts only the given certificate and name, unless told to skip that', async () => {
  const pair = { private_key: readFileSync(KEY), cert_chain: readFileSync(CERT) }
  await using backend = await startGrpcBackend(tookAll, {
    credentials: ServerCredentials.createSsl(null, [pair]),
  })
  const outcomeWith = async (changes: object): Promise<unknown> => {
    await using transport = openGrpcTransport(grpcSettings(backend.port, { tls: { ...tls, ...changes } }))
    return (await transport.send(REQUEST, going())).kind
  }
  expect(await outcomeWith({})).toBe('retry')
  expect(await outcomeWith({ caFile: CERT })).toBe('retry')
  expect(await outcomeWith({ caFile: CERT, serverNameOverride: 'backend.test' })).toBe('delivered')
  expect(await outcomeWith({ insecureSkipVerify: true })).toBe('delivered')
  expect(await outcomeWith({ insecure: true })).toBe('retry')
})

test('TLS shows a client certificate to a backend that asks for one', async () => {
  const pair = { private_key: readFileSync(KEY), cert_chain: readFileSync(CERT) }
  const credentials = ServerCredentials.createSsl(readFileSync(CERT), [pair], true)
  await using backend = await startGrpcBackend(tookAll, { credentials })
  const trust = { ...tls, caFile: CERT, serverNameOverride: 'backend.test' }
  await using known = openGrpcTransport(
    grpcSettings(backend.port, { tls: { ...trust, certFile: CERT, keyFile: KEY } }),
  )
  await using unknown = openGrpcTransport(grpcSettings(backend.port, { tls: trust }))
  expect(await known.send(REQUEST, going())).toMatchObject({ kind: 'delivered' })
  expect(await unknown.send(REQUEST, going())).toMatchObject({ kind: 'retry' })
})

test('an unusable certificate setting is an error that names it', () => {
  const open = (changes: object) => () => openGrpcTransport(grpcSettings(1, { tls: { ...tls, ...changes } }))
  expect(open({ caFile: here('tls/none.pem') })).toThrow(/^cannot read tls::ca_file: ENOENT/)
  expect(open({ certFile: CERT })).toThrow('provide both certificate and key, or neither')
})

test('works in a worker thread', async () => {
  await using backend = await startGrpcBackend(tookAll)
  const worker = new Worker(here('send-in-worker.ts'), { workerData: grpcSettings(backend.port) })
  const { promise, resolve, reject } = Promise.withResolvers<unknown>()
  worker.once('message', resolve)
  worker.once('error', reject)
  expect(await promise).toEqual({ kind: 'delivered', refused: 0, message: '' })
  await worker.terminate()
  expect(backend.requests[0]?.body).toEqual(Buffer.from(REQUEST))
})
