import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { Authority } from '../../lab/harness/certificates.ts'
import { GrpcSender } from '../../lab/harness/clients/grpc-sender.ts'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { exporterTo, freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../lab/harness/eventually.ts'
import { startHttpBackend } from '../../lab/harness/sinks/http-backend.ts'
import { TraceBackend } from '../../lab/harness/sinks/trace-backend.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { markerSpan } from './support/marker-span.ts'

leaveNothingBehind()

const YEAR = '8760h'

test('what may last for a year lasts, though no timer of Node takes so long', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-long-durations-'))
  const file = (name: string, content = ''): string => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const { cert, key } = new Authority().issue()
  const tls = { cert_file: file('crt', cert), key_file: file('key', key), reload_interval: YEAR }
  const retry = { initial_interval: YEAR, max_interval: YEAR, max_elapsed_time: YEAR }
  await using grpc = await TraceBackend.up()
  const asked: string[] = []
  await using http = await startHttpBackend((response, { url }) => {
    asked.push(url)
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
  })
  const sent = { timeout: YEAR, retry_on_failure: retry }
  const settings = await freshSettings({
    exporters: {
      otlp_grpc: exporterTo(grpc.port, sent),
      otlp_http: { endpoint: `http://127.0.0.1:${http.port}`, ...sent },
    },
    linking: { wait: YEAR, settle_after: '8761h', max_open: YEAR },
    query: { tls, write_timeout: YEAR },
    connector: {
      retention: { interval: YEAR, max_age: YEAR },
      metrics: { interval: YEAR },
      admission: { request_timeout: YEAR },
      inference: { who_wait: YEAR, telling_wait: YEAR, window: YEAR },
    },
  })
  const always = { max_connection_idle: YEAR, max_connection_age: YEAR, max_connection_age_grace: YEAR }
  const keepalive = { server_parameters: { ...always, time: YEAR, timeout: YEAR } }
  const read = { read_header_timeout: YEAR, read_timeout: YEAR, idle_timeout: YEAR, write_timeout: YEAR }
  settings.patch = {
    receivers: {
      otlp: { protocols: { grpc: { keepalive }, http: { tls, ...read } } },
      k8s_audit: { cluster: 'prod', log: { path: file('audit.log'), poll_interval: YEAR } },
    },
    extensions: { memory_limiter: { limit_mib: 2000, check_interval: YEAR } },
    service: {
      pipelines: {
        'traces/in': { receivers: ['otlp', 'k8s_audit'] },
        'metrics/out': { receivers: ['cpid'], exporters: ['otlp_http'] },
      },
    },
  }
  await using causeway = await startCauseway(settings)
  using sender = new GrpcSender(settings.ports.grpc)
  expect(await sender.export('traces', markerSpan('one').bytes)).toMatchObject({ code: 0 })
  await eventually(() => {
    expect([...grpc.names]).toEqual(['one'])
    expect(asked).toContain('/v1/traces')
  })
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(causeway.complaints).toEqual([])
})
