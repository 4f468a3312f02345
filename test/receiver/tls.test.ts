import { afterAll, beforeAll, test, expect } from '@jest/globals'
import { ChannelCredentials } from '@grpc/grpc-js'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ReceiverTls } from '../../src/receiver/receiver-settings.ts'
import { GrpcSender } from './grpc-client.ts'
import { RecordingPort } from './recording-port.ts'
import { selfSigned } from './self-signed.ts'
import { startGrpc, startHttp } from './start-receivers.ts'

const server = selfSigned()
const client = selfSigned()
const serverCa = Buffer.from(server.cert)
let folder = ''
let tls: ReceiverTls & { certFile: string }
let mutual: ReceiverTls

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-tls-'))
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  tls = { certFile: await write('cert.pem', server.cert), keyFile: await write('key.pem', server.key) }
  mutual = { ...tls, clientCaFile: await write('ca.pem', client.cert) }
})

afterAll(() => rm(folder, { recursive: true }))

async function postTls(port: number, identity: { cert?: string; key?: string }): Promise<number | undefined> {
  const sent = httpsRequest({
    port,
    path: '/v1/traces',
    method: 'POST',
    agent: false,
    ca: serverCa,
    ...identity,
  })
  sent.setHeader('content-type', 'application/x-protobuf').end('bytes')
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

test('gRPC over TLS', async () => {
  await using receiver = await startGrpc(new RecordingPort(), { tls })
  using trusting = new GrpcSender(receiver.port, {}, ChannelCredentials.createSsl(serverCa))
  using plain = new GrpcSender(receiver.port)
  expect(await trusting.export('traces', Buffer.from('bytes'))).toMatchObject({ code: 0 })
  expect(await plain.export('traces', Buffer.from('bytes'))).toMatchObject({ code: 14 })
})

test('HTTP over TLS with certificate and key in the configuration itself', async () => {
  const pem = { certPem: server.cert, keyPem: server.key }
  await using receiver = await startHttp(new RecordingPort(), { tls: pem })
  expect(await postTls(receiver.port, {})).toBe(200)
})

test('HTTP over TLS', async () => {
  await using receiver = await startHttp(new RecordingPort(), { tls })
  expect(await postTls(receiver.port, {})).toBe(200)
})

test('gRPC lets in only clients that the CA vouches for', async () => {
  await using receiver = await startGrpc(new RecordingPort(), { tls: mutual })
  const { cert, key } = client
  const known = ChannelCredentials.createSsl(serverCa, Buffer.from(key), Buffer.from(cert))
  using identified = new GrpcSender(receiver.port, {}, known)
  using anonymous = new GrpcSender(receiver.port, {}, ChannelCredentials.createSsl(serverCa))
  expect(await identified.export('traces', Buffer.from('bytes'))).toMatchObject({ code: 0 })
  expect(await anonymous.export('traces', Buffer.from('bytes'))).toMatchObject({ code: 14 })
})

test('HTTP lets in only clients that the CA vouches for', async () => {
  await using receiver = await startHttp(new RecordingPort(), { tls: mutual })
  expect(await postTls(receiver.port, client)).toBe(200)
  await expect(postTls(receiver.port, {})).rejects.toThrow()
})

test.each([
  ['gRPC', startGrpc],
  ['HTTP', startHttp],
])('files that cannot be used are named (%s)', async (_, start) => {
  const startWith = (files: Partial<ReceiverTls>) => start(new RecordingPort(), { tls: { ...tls, ...files } })
  await expect(startWith({ keyFile: '/no/such/key.pem' })).rejects.toThrow(
    /^receiver otlp\/test cannot read tls::key_file: .*\/no\/such\/key\.pem.*; correct the path$/,
  )
  await expect(startWith({ keyFile: tls.certFile })).rejects.toThrow(
    'give a certificate and its own key in PEM form',
  )
})
