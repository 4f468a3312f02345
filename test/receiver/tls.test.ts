import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { ChannelCredentials } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { ServerTlsSettings } from '../../src/model/connection-settings.ts'
import { Authority, type Certificate } from '../../lab/harness/certificates.ts'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { RecordingPort } from './support/recording-port.ts'
import { startGrpc, startHttp } from './support/start-receivers.ts'

const authority = new Authority()
const stranger = new Authority('a stranger')
const server = authority.issue()
const client = authority.issue({ name: 'kubelet' })
const serverCa = Buffer.from(authority.cert)
let folder = ''
let tls: ServerTlsSettings & { certFile: string; keyFile: string }
let mutual: ServerTlsSettings

const write = async (name: string, text: string): Promise<string> => {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-tls-'))
  tls = { certFile: await write('cert.pem', server.cert), keyFile: await write('key.pem', server.key) }
  mutual = { ...tls, clientCaFile: await write('ca.pem', authority.cert) }
})

afterAll(() => rm(folder, { recursive: true }))

async function postTls(port: number, options: ConnectionOptions & { agent?: Agent }): Promise<number> {
  const sent = httpsRequest({
    port,
    path: '/v1/traces',
    method: 'POST',
    agent: false,
    ca: serverCa,
    ...options,
  })
  sent.setHeader('content-type', 'application/x-protobuf').end('bytes')
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return response.statusCode ?? 0
}

async function sendGrpc(port: number, identity?: Certificate, ca = serverCa): Promise<number> {
  const pair = identity && ([Buffer.from(identity.key), Buffer.from(identity.cert)] as const)
  using sender = new GrpcSender(port, {}, ChannelCredentials.createSsl(ca, pair?.[0], pair?.[1]))
  return (await sender.export('traces', Buffer.from('bytes'))).code
}

/** The serial number of the certificate that a new connection is shown. */
async function serialShown(port: number): Promise<string> {
  const socket = connect({ port, host: 'localhost', ca: serverCa, ALPNProtocols: ['h2', 'http/1.1'] })
  await once(socket, 'secureConnect')
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

test('gRPC over TLS', async () => {
  await using receiver = await startGrpc(new RecordingPort(), { tls })
  using plain = new GrpcSender(receiver.port)
  expect(await sendGrpc(receiver.port)).toBe(0)
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

describe.each([
  ['nobody', undefined],
  ['one whom another authority vouches for', stranger.issue({ name: 'kubelet' })],
  ['one whose certificate has expired', authority.issue({ name: 'kubelet', to: '20210101000000Z' })],
  ['one whose certificate is not good yet', authority.issue({ name: 'kubelet', from: '29980101000000Z' })],
])('with client_ca_file %s', (_, identity) => {
  test('is kept out of gRPC', async () => {
    const port = new RecordingPort()
    await using receiver = await startGrpc(port, { tls: mutual })
    expect(await sendGrpc(receiver.port, client)).toBe(0)
    expect(await sendGrpc(receiver.port, identity)).toBe(14)
    expect(port.requests).toHaveLength(1)
  })

  test('is kept out of HTTP', async () => {
    const port = new RecordingPort()
    await using receiver = await startHttp(port, { tls: mutual })
    expect(await postTls(receiver.port, client)).toBe(200)
    await expect(postTls(receiver.port, identity ?? {})).rejects.toThrow()
    expect(port.requests).toHaveLength(1)
  })
})

test('an operator is told of connections that are refused', async () => {
  const troubles: string[] = []
  await using receiver = await startGrpc(new RecordingPort(), {
    tls: mutual,
    onTrouble: (reason) => troubles.push(reason),
  })
  await sendGrpc(receiver.port)
  await eventually(() => {
    expect(troubles[0]).toMatch(/^receiver otlp\/test refused a TLS connection: .*certificate/)
  })
})

test.each([
  ['gRPC', startGrpc],
  ['HTTP', startHttp],
])('TLS no older than asked for (%s)', async (name, start) => {
  await using receiver = await start(new RecordingPort(), { tls: { ...tls, minVersion: 'TLSv1.3' } })
  const handshake = async (maxVersion: 'TLSv1.2' | 'TLSv1.3'): Promise<string | null> => {
    const ALPNProtocols = [name === 'gRPC' ? 'h2' : 'http/1.1']
    const socket = connect({
      port: receiver.port,
      host: 'localhost',
      ca: serverCa,
      maxVersion,
      ALPNProtocols,
    })
    await once(socket, 'secureConnect')
    const version = socket.getProtocol()
    socket.destroy()
    return version
  }
  expect(await handshake('TLSv1.3')).toBe('TLSv1.3')
  await expect(handshake('TLSv1.2')).rejects.toThrow(/version/)
})

test('only the cipher suites asked for', async () => {
  const cipherSuites = ['ECDHE-ECDSA-AES256-GCM-SHA384']
  const settings = { tls: { ...tls, maxVersion: 'TLSv1.2' as const, cipherSuites } }
  await using receiver = await startHttp(new RecordingPort(), settings)
  expect(await postTls(receiver.port, {})).toBe(200)
  const other = { ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }
  await expect(postTls(receiver.port, other)).rejects.toThrow(/handshake/)
})

describe.each([
  ['gRPC', startGrpc],
  ['HTTP', startHttp],
] as const)('certificates that change (%s)', (name, start) => {
  const rotating = async (port: RecordingPort, troubles: string[] = []) => {
    const files = {
      certFile: await write(`${name}-rotating.pem`, server.cert),
      keyFile: await write(`${name}-rotating-key.pem`, server.key),
      clientCaFile: await write(`${name}-rotating-ca.pem`, authority.cert),
    }
    const receiver = await start(port, {
      tls: { ...files, reloadIntervalMs: 5 },
      onTrouble: (reason) => troubles.push(reason),
    })
    return { files, port: receiver.port, [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose]() }
  }

  test('count for new connections, and those there are go on', async () => {
    const port = new RecordingPort()
    await using listening = await rotating(port)
    const { files } = listening
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const credentials = ChannelCredentials.createSsl(
      serverCa,
      Buffer.from(client.key),
      Buffer.from(client.cert),
    )
    using sender = new GrpcSender(listening.port, {}, credentials)
    const sockets: TLSSocket[] = []
    agent.on('free', (socket: TLSSocket) => sockets.push(socket))
    const again = async (): Promise<number> =>
      name === 'gRPC'
        ? (await sender.export('traces', Buffer.from('bytes'))).code
        : await postTls(listening.port, { ...client, agent })
    const success = name === 'gRPC' ? 0 : 200
    expect(await again()).toBe(success)

    const next = authority.issue()
    await writeFile(files.certFile, next.cert)
    await writeFile(files.keyFile, next.key)
    await eventually(async () => expect(await serialShown(listening.port)).toBe(serialOf(next)))
    expect(await again()).toBe(success)
    expect(new Set(sockets).size).toBeLessThan(2)
    agent.destroy()
  })

  test('an authority that is taken out vouches no more', async () => {
    await using listening = await rotating(new RecordingPort())
    const { files } = listening
    const send = (identity: Certificate) =>
      name === 'gRPC'
        ? sendGrpc(listening.port, identity)
        : postTls(listening.port, identity).catch((): number => 14)
    const newcomer = stranger.issue({ name: 'kubelet' })
    expect(await send(newcomer)).toBe(14)
    await writeFile(files.clientCaFile, stranger.cert)
    await eventually(async () => expect(await send(newcomer)).not.toBe(14))
    expect(await send(client)).toBe(14)
  })

  test('files that cannot be used are named, and what was read before stays in use', async () => {
    const troubles: string[] = []
    await using listening = await rotating(new RecordingPort(), troubles)
    const { files } = listening
    // Put in place whole: a file half written would be another trouble.
    await rename(await write(`${name}-other-key.pem`, stranger.issue().key), files.keyFile)
    await eventually(() => {
      expect(troubles.filter((line) => line.includes('own key'))).toEqual([
        expect.stringMatching(
          /^receiver otlp\/test cannot use its tls certificate and key: .*; what was read before/,
        ),
      ])
    })
    expect(await serialShown(listening.port)).toBe(serialOf(server))
  })

  test('an authority of the senders that becomes empty is told of, and the one before stays in use', async () => {
    const troubles: string[] = []
    await using listening = await rotating(new RecordingPort(), troubles)
    await writeFile(listening.files.clientCaFile, '')
    await eventually(() => {
      expect(troubles).toEqual([
        expect.stringMatching(
          /^receiver otlp\/test tls::client_ca_file .* has no certificate in it; .*; what was read before/,
        ),
      ])
    })
    const sent = name === 'gRPC' ? sendGrpc(listening.port, client) : postTls(listening.port, client)
    expect(await sent).toBe(name === 'gRPC' ? 0 : 200)
  })
})

test.each([
  ['gRPC', startGrpc],
  ['HTTP', startHttp],
])('a receiver that has stopped looks at its certificates no more (%s)', async (name, start) => {
  const certFile = await write(`${name}-left.pem`, server.cert)
  const told = { stopped: 0, listening: [] as string[] }
  const startWith = (onTrouble: (reason: string) => void) =>
    start(new RecordingPort(), { tls: { ...tls, certFile, reloadIntervalMs: 5 }, onTrouble })
  const stopped = await startWith(() => told.stopped++)
  await using listening = await startWith((reason) => told.listening.push(reason))
  await stopped[Symbol.asyncDispose]()
  // Two looks of the one, with the same interval, have one of the other between them.
  await rm(certFile)
  await eventually(() => expect(told.listening).toHaveLength(1))
  await rename(await write(`${name}-other.pem`, 'no certificate'), certFile)
  await eventually(() => expect(told.listening).toHaveLength(2))
  expect(await serialShown(listening.port)).toBe(serialOf(server))
  expect(told.stopped).toBe(0)
})

test.each([
  ['gRPC', startGrpc],
  ['HTTP', startHttp],
])('files that cannot be used are named (%s)', async (_, start) => {
  const startWith = (files: Partial<ServerTlsSettings>) =>
    start(new RecordingPort(), { tls: { ...tls, ...files } })
  await expect(startWith({ keyFile: '/no/such/key.pem' })).rejects.toThrow(
    /^receiver otlp\/test cannot read tls::key_file: .*\/no\/such\/key\.pem.*; correct the path$/,
  )
  await expect(startWith({ keyFile: tls.certFile })).rejects.toThrow(
    'give a certificate and its own key in PEM form',
  )
})

function serialOf({ cert }: Certificate): string {
  return new X509Certificate(cert).serialNumber
}
