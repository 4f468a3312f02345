import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { ServerCredentials } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { ClientTlsSettings } from '../../src/model/connection-settings.ts'
import { Authority } from '../../lab/harness/certificates.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { startGrpcBackend, tookAll } from '../../lab/harness/sinks/grpc-backend.ts'
import { startHttpBackend } from '../../lab/harness/sinks/http-backend.ts'
import { openGrpcTransport } from '../../src/exporter/otlp-grpc/grpc-transport.ts'
import { openHttpTransport } from '../../src/exporter/otlp-http/http-transport.ts'
import { systemClock } from '../../src/platform/system-clock.ts'
import { going, grpcSettings, httpSettings, REQUEST } from './transport-settings.ts'

const authority = new Authority()
const stranger = new Authority('a stranger')
const backendPair = authority.issue({ dns: ['backend.test'] })
const mutual = { requestCert: true, rejectUnauthorized: true, ca: authority.cert }
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'causeway-client-tls-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function rotatingFiles(name: string) {
  const first = stranger.issue({ name: 'before' })
  const at = async (part: string, text: string): Promise<string> => {
    const path = join(folder, `${name}-${part}`)
    await writeFile(path, text)
    return path
  }
  return {
    caFile: await at('ca', authority.cert),
    certFile: await at('cert', first.cert),
    keyFile: await at('key', first.key),
  }
}

const followed = {
  insecure: false,
  insecureSkipVerify: false,
  serverNameOverride: 'backend.test',
  reloadIntervalMs: 5,
}

test('an HTTP exporter shows a certificate that changed without a restart', async () => {
  const server = createTlsServer({ ...backendPair, ...mutual })
  await using backend = await startHttpBackend((response) => response.end(), server, 'https')
  const files = await rotatingFiles('http')
  await using transport = openHttpTransport(
    httpSettings(backend.url, { tls: { ...followed, ...files } }),
    systemClock,
  )
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'retry' })
  const next = authority.issue({ name: 'after' })
  await writeFile(files.certFile, next.cert)
  await writeFile(files.keyFile, next.key)
  await eventually(async () =>
    expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered' }),
  )
  const shown = (backend.requests[0]?.socket as TLSSocket).getPeerCertificate().subject.CN
  expect(shown).toBe('after')
})

test('a gRPC exporter shows a certificate that changed without a restart', async () => {
  const pair = { private_key: Buffer.from(backendPair.key), cert_chain: Buffer.from(backendPair.cert) }
  const credentials = ServerCredentials.createSsl(Buffer.from(authority.cert), [pair], true)
  await using backend = await startGrpcBackend(tookAll, { credentials })
  const files = await rotatingFiles('grpc')
  await using transport = openGrpcTransport(
    grpcSettings(backend.port, { timeoutMs: 1_000, tls: { ...followed, ...files } }),
  )
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'retry' })
  const next = authority.issue({ name: 'after' })
  await writeFile(files.certFile, next.cert)
  await writeFile(files.keyFile, next.key)
  await eventually(async () =>
    expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered' }),
  )
})

async function overHttp() {
  const backend = await startHttpBackend(
    (response) => response.end(),
    createTlsServer({ ...backendPair }),
    'https',
  )
  const open = (tls: ClientTlsSettings, onTrouble?: (reason: string) => void) =>
    openHttpTransport(httpSettings(backend.url, { tls, ...(onTrouble && { onTrouble }) }), systemClock)
  return { open, [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose]() }
}

async function overGrpc() {
  const pair = { private_key: Buffer.from(backendPair.key), cert_chain: Buffer.from(backendPair.cert) }
  const backend = await startGrpcBackend(tookAll, { credentials: ServerCredentials.createSsl(null, [pair]) })
  const open = (tls: ClientTlsSettings, onTrouble?: (reason: string) => void) =>
    openGrpcTransport(grpcSettings(backend.port, { timeoutMs: 1_000, tls, ...(onTrouble && { onTrouble }) }))
  return { open, [Symbol.asyncDispose]: () => backend[Symbol.asyncDispose]() }
}

describe.each([
  ['HTTP', overHttp],
  ['gRPC', overGrpc],
])('over %s', (name, start) => {
  test('the authority in ca_file counts as it is now, whoever was trusted before', async () => {
    await using backend = await start()
    const caFile = join(folder, `${name}-trusted`)
    await writeFile(caFile, stranger.cert)
    await using transport = backend.open({ ...followed, caFile })
    const becomes = (kind: string) =>
      eventually(async () => expect(await transport.send(REQUEST, going())).toMatchObject({ kind }))
    await becomes('retry')
    await writeFile(caFile, authority.cert)
    await becomes('delivered')
    await writeFile(caFile, stranger.cert)
    await becomes('retry')
  })

  test('an exporter that is closed looks at its files no more', async () => {
    await using backend = await start()
    const caFile = join(folder, `${name}-left`)
    await writeFile(caFile, authority.cert)
    const told = { closed: 0, open: [] as string[] }
    const closed = backend.open({ ...followed, caFile }, () => told.closed++)
    await using transport = backend.open({ ...followed, caFile }, (reason) => told.open.push(reason))
    await closed[Symbol.asyncDispose]()
    // Two looks of the one, with the same interval, have one of the other between them.
    await rm(caFile)
    await eventually(() => expect(told.open).toHaveLength(1))
    await mkdir(caFile)
    await eventually(() => expect(told.open).toHaveLength(2))
    await eventually(async () =>
      expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered' }),
    )
    expect(told.closed).toBe(0)
  })
})

test('an HTTP exporter closes a connection at rest when a change has made it old', async () => {
  const server = createTlsServer({ ...backendPair })
  server.keepAliveTimeout = 0
  await using backend = await startHttpBackend((response) => response.end(), server, 'https')
  const caFile = join(folder, 'resting')
  await writeFile(caFile, authority.cert)
  const tls = { ...followed, caFile }
  await using transport = openHttpTransport(httpSettings(backend.url, { tls }), systemClock)
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered' })
  await writeFile(caFile, stranger.cert)
  await eventually(() => expect(backend.requests[0]?.socket.destroyed).toBe(true))
})

test('files that become unusable are told of and change nothing', async () => {
  const server = createTlsServer({ ...backendPair })
  await using backend = await startHttpBackend((response) => response.end(), server, 'https')
  const files = await rotatingFiles('broken')
  const troubles: string[] = []
  await using transport = openHttpTransport(
    httpSettings(backend.url, {
      tls: { ...followed, ...files },
      onTrouble: (reason) => troubles.push(reason),
    }),
    systemClock,
  )
  await writeFile(files.keyFile, 'no key')
  await eventually(() => expect(troubles[0]).toMatch(/^cannot use its tls certificates: .*stays in use$/))
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered' })
})

test('an authority without a certificate is told of: at the start, and when its file becomes so', async () => {
  const server = createTlsServer({ ...backendPair })
  await using backend = await startHttpBackend((response) => response.end(), server, 'https')
  const caFile = join(folder, 'emptied')
  await writeFile(caFile, '')
  const troubles: string[] = []
  const settings = httpSettings(backend.url, {
    tls: { ...followed, caFile },
    onTrouble: (reason) => troubles.push(reason),
  })
  expect(() => openHttpTransport(settings, systemClock)).toThrow(
    `tls::ca_file ${caFile} has no certificate in it; give one or more in PEM form`,
  )
  await writeFile(caFile, authority.cert)
  await using transport = openHttpTransport(settings, systemClock)
  await writeFile(caFile, '# to follow\n')
  await eventually(() =>
    expect(troubles[0]).toMatch(/^tls::ca_file .* has no certificate in it.*stays in use$/),
  )
  expect(await transport.send(REQUEST, going())).toMatchObject({ kind: 'delivered' })
})
