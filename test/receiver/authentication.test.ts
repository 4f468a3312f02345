import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChannelCredentials } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { hashSync } from 'bcryptjs'
import type { ServerTlsSettings } from '../../src/model/connection-settings.ts'
import { Authority } from '../../lab/harness/certificates.ts'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { JSON_TYPE, post, PROTOBUF, send } from '../../lab/harness/clients/http-sender.ts'
import { EXPORT_METHODS } from '../../lab/harness/export-methods.ts'
import { encodeRpcStatus } from '../../src/model/otlp/responses.ts'
import { openBasicAuthenticator } from '../../src/platform/basic-auth.ts'
import { type Authenticator, openBearerAuthenticator } from '../../src/platform/credentials.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

const bytes = Buffer.from('bytes')
const basic = (login: string) => `Basic ${Buffer.from(login).toString('base64')}`

const tokens = (): Authenticator =>
  openBearerAuthenticator({
    id: 'bearertokenauth',
    header: 'Authorization',
    scheme: 'Bearer',
    tokens: ['right'],
    reloadIntervalMs: 0,
    onTrouble: () => undefined,
  })
const users = (): Authenticator =>
  openBasicAuthenticator({
    id: 'basicauth',
    inline: `alice:${hashSync('right', 4)}`,
    reloadIntervalMs: 0,
    onTrouble: () => undefined,
  })

const UNKNOWN = [
  {},
  { authorization: '' },
  { authorization: 'right' },
  { authorization: 'Bearer wrong' },
  { authorization: 'Bearer right-' },
  { authorization: basic('alice:wrong') },
  { authorization: basic('mallory:right') },
  { 'x-authorization': 'Bearer right' },
]
const BY = [
  ['a bearer token', tokens, 'Bearer right', { authenticator: 'bearertokenauth' }, 'Bearer'],
  [
    'user and password',
    users,
    basic('alice:right'),
    { authenticator: 'basicauth', username: 'alice' },
    'Basic ',
  ],
] as const

describe.each(BY)('senders are known by %s', (_, open, right, sender, challenge) => {
  test('over gRPC', async () => {
    const port = new RecordingPort()
    await using receiver = await startGrpc(port, { authenticator: open() })
    using client = new GrpcSender(receiver.port)
    expect(await client.export('traces', bytes, { authorization: right })).toMatchObject({ code: 0 })
    expect(port.requests).toEqual([{ signal: 'traces', request: bytes, sender }])
    for (const headers of UNKNOWN) {
      expect(await client.export('traces', bytes, headers)).toMatchObject({ code: 16 })
    }
    expect(port.requests).toHaveLength(1)
    expect(receiver.answered).toHaveLength(1)
    expect(receiver.turnedAway).toHaveLength(UNKNOWN.length)
  })

  test('over HTTP', async () => {
    const port = new RecordingPort()
    await using receiver = await startHttp(port, { authenticator: open() })
    const ok = await post(receiver.port, '/v1/logs', { ...PROTOBUF, authorization: right }, bytes)
    expect(ok.status).toBe(200)
    expect(port.requests).toEqual([{ signal: 'logs', request: bytes, sender }])
    for (const headers of UNKNOWN) {
      const refused = await post(receiver.port, '/v1/logs', { ...PROTOBUF, ...headers }, bytes)
      expect(refused).toMatchObject({ status: 401, type: 'application/x-protobuf' })
      expect(refused.headers.get('www-authenticate')).toMatch(challenge)
    }
    expect(port.requests).toHaveLength(1)
    expect(receiver.answered).toHaveLength(1)
    expect(receiver.turnedAway).toHaveLength(UNKNOWN.length)
  })
})

test('a refusal over HTTP is a status in the type of the request, and says what to send', async () => {
  await using receiver = await startHttp(new RecordingPort(), { authenticator: tokens() })
  const { status, body } = await post(receiver.port, '/v1/traces', JSON_TYPE, '{}')
  const message = 'no authorization header came; send "Bearer <token>" in it'
  expect([status, body]).toEqual([401, Buffer.from(encodeRpcStatus('json', { code: 16, message }))])
})

test('whoever is not known learns nothing of paths', async () => {
  await using receiver = await startHttp(new RecordingPort(), { authenticator: tokens() })
  expect(await send(receiver.port, '/nowhere', { method: 'GET' })).toMatchObject({ status: 401 })
})

test('the question of a browser whether a page may send needs no credential', async () => {
  const cors = { allowedOrigins: ['https://ui.example'] }
  await using receiver = await startHttp(new RecordingPort(), { authenticator: tokens(), cors })
  const preflight = { origin: 'https://ui.example', 'access-control-request-method': 'POST' }
  expect(await send(receiver.port, '/v1/traces', { method: 'OPTIONS', headers: preflight })).toMatchObject({
    status: 204,
  })
})

test('nothing of the body is waited for over HTTP', async () => {
  await using receiver = await startHttp(new RecordingPort(), { authenticator: tokens() })
  const socket = connect(receiver.port, '127.0.0.1')
  socket.write('POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n')
  const [answer] = (await once(socket, 'data')) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /)
  socket.destroy()
})

test('nothing of the message is waited for over gRPC', async () => {
  await using receiver = await startGrpc(new RecordingPort(), { authenticator: tokens() })
  const session = connectHttp2(`http://127.0.0.1:${receiver.port}`)
  const stream = session.request({
    ':method': 'POST',
    ':path': EXPORT_METHODS.traces.path,
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  const [headers] = (await once(stream, 'response')) as [Record<string, string>]
  expect(headers['grpc-status']).toBe('16')
  stream.destroy()
  session.destroy()
})

test('a sender that has to wait for its password to be checked is told when to come again', async () => {
  const guesses = Array.from({ length: 20 }, (_, at) => ({ authorization: basic(`alice:${at}`) }))
  await using receiver = await startHttp(new RecordingPort(), { authenticator: users() })
  const answers = await Promise.all(
    guesses.map((headers) => post(receiver.port, '/v1/traces', { ...PROTOBUF, ...headers }, bytes)),
  )
  const busy = answers.filter(({ status }) => status === 503)
  expect(busy.length).toBeGreaterThan(0)
  expect(busy[0]?.headers.get('retry-after')).toBe('1')
  expect(answers.filter(({ status }) => status === 401)).toHaveLength(20 - busy.length)
})

describe('a certificate tells who sends', () => {
  const authority = new Authority()
  const server = authority.issue()
  const client = authority.issue({
    name: 'kubelet',
    dns: ['node-1.example', 'odd, name'],
    uris: ['spiffe://cluster/kubelet'],
  })
  const certificate = ['cn:kubelet', 'dns:node-1.example', 'dns:odd, name', 'uri:spiffe://cluster/kubelet']
  const sender = { authenticator: 'bearertokenauth', certificate }
  let folder = ''
  let tls: ServerTlsSettings

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'causeway-names-'))
    const clientCaFile = join(folder, 'ca.pem')
    await writeFile(clientCaFile, authority.cert)
    tls = { certPem: server.cert, keyPem: server.key, clientCaFile }
  })
  afterAll(() => rm(folder, { recursive: true }))

  test('over gRPC, beside its credential', async () => {
    const port = new RecordingPort()
    await using receiver = await startGrpc(port, { tls, authenticator: tokens() })
    const [ca, key, cert] = [authority.cert, client.key, client.cert].map((pem) => Buffer.from(pem))
    using known = new GrpcSender(receiver.port, {}, ChannelCredentials.createSsl(ca, key, cert))
    expect(await known.export('traces', bytes, { authorization: 'Bearer right' })).toMatchObject({ code: 0 })
    expect(await known.export('traces', bytes)).toMatchObject({ code: 16 })
    expect(port.requests).toMatchObject([{ sender }])
  })

  test('over HTTP, beside its credential', async () => {
    const port = new RecordingPort()
    await using receiver = await startHttp(port, { tls, authenticator: tokens() })
    const sendWith = async (headers: Record<string, string>): Promise<number | undefined> => {
      const to = { port: receiver.port, path: '/v1/traces', method: 'POST', agent: false }
      const sent = httpsRequest({
        ...to,
        ca: authority.cert,
        ...client,
        headers: { ...PROTOBUF, ...headers },
      })
      sent.end(bytes)
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      response.resume()
      return response.statusCode
    }
    expect(await sendWith({ authorization: 'Bearer right' })).toBe(200)
    expect(await sendWith({})).toBe(401)
    expect(port.requests).toMatchObject([{ sender }])
  })

  test('by itself where no credential is asked for', async () => {
    const port = new RecordingPort()
    await using receiver = await startGrpc(port, { tls })
    const [ca, key, cert] = [authority.cert, client.key, client.cert].map((pem) => Buffer.from(pem))
    using known = new GrpcSender(receiver.port, {}, ChannelCredentials.createSsl(ca, key, cert))
    expect(await known.export('traces', bytes)).toMatchObject({ code: 0 })
    expect(port.requests).toMatchObject([{ sender: { certificate } }])
  })
})
