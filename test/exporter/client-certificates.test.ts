import { ServerCredentials } from '@grpc/grpc-js'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { openGrpcTransport } from '../../src/exporter/grpc-transport.ts'
import { openHttpTransport } from '../../src/exporter/http-transport.ts'
import { systemClock } from '../../src/app/system-clock.ts'
import { eventually } from '../process/eventually.ts'
import { Authority } from '../support/certificates.ts'
import { startGrpcBackend, tookAll } from './grpc-backend.ts'
import { startHttpBackend } from './http-backend.ts'
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
  await using backend = await startGrpcBackend(tookAll, credentials)
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
