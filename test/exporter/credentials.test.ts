import { expect, test } from '@jest/globals'
import { startGrpcBackend, tookAll } from '../../lab/harness/sinks/grpc-backend.ts'
import { startHttpBackend } from '../../lab/harness/sinks/http-backend.ts'
import { openGrpcTransport } from '../../src/exporter/otlp-grpc/grpc-transport.ts'
import { openHttpTransport } from '../../src/exporter/otlp-http/http-transport.ts'
import type { Credentials } from '../../src/platform/credentials.ts'
import { systemClock } from '../../src/platform/system-clock.ts'
import { going, grpcSettings, httpSettings, REQUEST } from './transport-settings.ts'

/** A credential that is another one each time. */
const changing = (): Credentials => {
  let shown = 0
  return { header: 'x-token', value: () => `Token ${++shown}`, [Symbol.dispose]: () => undefined }
}
const headers = { 'x-token': 'written', 'x-scope-orgid': '1' }

test('every request over gRPC shows the credential as it is then', async () => {
  await using backend = await startGrpcBackend(tookAll)
  await using transport = openGrpcTransport(grpcSettings(backend.port, { headers, credentials: changing() }))
  for (let sent = 0; sent < 2; sent++) await transport.send(REQUEST, going())
  expect(backend.requests.map(({ metadata }) => metadata.get('x-token'))).toEqual([['Token 1'], ['Token 2']])
  expect(backend.requests[0]?.metadata.get('x-scope-orgid')).toEqual(['1'])
})

test('every request over HTTP shows the credential as it is then', async () => {
  await using backend = await startHttpBackend((response) => response.end())
  const settings = httpSettings(backend.url, { headers, credentials: changing() })
  await using transport = openHttpTransport(settings, systemClock)
  for (let sent = 0; sent < 2; sent++) await transport.send(REQUEST, going())
  expect(backend.requests.map(({ headers: seen }) => seen['x-token'])).toEqual(['Token 1', 'Token 2'])
  expect(backend.requests[0]?.headers['x-scope-orgid']).toBe('1')
})
