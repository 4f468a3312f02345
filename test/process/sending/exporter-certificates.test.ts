import { writeFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { join } from 'node:path'
import { ServerCredentials } from '@grpc/grpc-js'
import { expect, test } from '@jest/globals'
import { startCauseway } from '../../../lab/harness/causeway/causeway-process.ts'
import { type CausewaySettings, freshSettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import { Authority, type Certificate } from '../../../lab/harness/certificates.ts'
import { RequestSender } from '../../../lab/harness/clients/request-sender.ts'
import { eventually } from '../../../lab/harness/eventually.ts'
import { startGrpcBackend, tookAll } from '../../../lab/harness/sinks/grpc-backend.ts'
import { startHttpBackend } from '../../../lab/harness/sinks/http-backend.ts'
import { WILL_RETRY } from '../../../src/exporter/open-transport.ts'
import { logsRequest } from '../../support/otlp-requests.ts'
import { leaveNothingBehind } from '../support/leave-nothing-behind.ts'

const authority = new Authority()
const stranger = new Authority('a stranger')
const server = authority.issue({ dns: ['backend.test'] })

leaveNothingBehind()

const write = ({ home }: CausewaySettings, { cert, key }: Certificate): void => {
  writeFileSync(join(home, 'client.crt'), cert)
  writeFileSync(join(home, 'client.key'), key)
}

test.each([
  { by: 'changing its files', reloading: { reload_interval: '100ms' }, isHungUp: false },
  { by: 'SIGHUP', reloading: {}, isHungUp: true },
])('exporters of logs and of metrics show a new certificate after $by', async ({ reloading, isHungUp }) => {
  const mutual = { ...server, requestCert: true, rejectUnauthorized: true, ca: authority.cert }
  await using overHttp = await startHttpBackend(
    (response) => response.end(),
    createTlsServer(mutual),
    'https',
  )
  const pair = { private_key: Buffer.from(server.key), cert_chain: Buffer.from(server.cert) }
  const credentials = ServerCredentials.createSsl(Buffer.from(authority.cert), [pair], true)
  await using overGrpc = await startGrpcBackend(tookAll, { credentials })

  const settings = await freshSettings({ connector: { metrics: { interval: '100ms' } } })
  const file = (name: string): string => join(settings.home, name)
  writeFileSync(file('ca.crt'), authority.cert)
  write(settings, stranger.issue({ name: 'before' }))
  const tls = {
    ca_file: file('ca.crt'),
    cert_file: file('client.crt'),
    key_file: file('client.key'),
    server_name_override: 'backend.test',
    ...reloading,
  }
  const common = { tls, timeout: '1s', retry_on_failure: { initial_interval: '50ms', max_interval: '200ms' } }
  const exporters = {
    'otlp_http/secure': { endpoint: `https://127.0.0.1:${overHttp.port}`, ...common },
    'otlp_grpc/secure': { endpoint: `127.0.0.1:${overGrpc.port}`, ...common },
  }
  settings.logExporters = exporters
  settings.metricExporters = exporters
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.send({ signal: 'logs', bytes: logsRequest('controller', [{ body: 'hello' }]) })
  await eventually(() => {
    for (const name of Object.keys(exporters))
      expect(causeway.errors).toMatch(new RegExp(`${WILL_RETRY.slice(0, 20)}.*${name}`))
  })
  expect([...overHttp.requests, ...overGrpc.requests]).toEqual([])

  write(settings, authority.issue({ name: 'after' }))
  if (isHungUp) process.kill(causeway.pid, 'SIGHUP')
  await eventually(() => {
    expect(new Set(overHttp.requests.map(({ url }) => url))).toEqual(new Set(['/v1/logs', '/v1/metrics']))
    expect(new Set(overGrpc.requests.map(({ path }) => path.split('.').at(-1)))).toEqual(
      new Set(['LogsService/Export', 'MetricsService/Export']),
    )
  })
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
})
