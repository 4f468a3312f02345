import { expect, test } from '@jest/globals'
import { startCauseway } from '../../../lab/harness/causeway/causeway-process.ts'
import { freshSettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import { ownMetric } from '../../../lab/harness/causeway/scraped-metrics.ts'
import { askStored } from '../../../lab/harness/causeway/stored-data.ts'
import { RequestSender } from '../../../lab/harness/clients/request-sender.ts'
import { eventually } from '../../../lab/harness/eventually.ts'
import { startHttpBackend } from '../../../lab/harness/sinks/http-backend.ts'
import { metricsJson, metricsRequest, type PodSketch } from '../../support/pod-metrics.ts'
import { leaveNothingBehind } from '../support/leave-nothing-behind.ts'

leaveNothingBehind()

const pod = (number: number): PodSketch => ({
  uid: `pod-${number}`,
  metrics: { 'k8s.pod.cpu.usage': [[number, 0.25]], 'k8s.pod.phase': [[number, 2]] },
})

test('metrics over gRPC and HTTP go on unchanged, those of before a crash too, beside the cascade metrics', async () => {
  let isRefusing = true
  const received: Buffer[] = []
  await using backend = await startHttpBackend((response, { body, url }) => {
    expect(url).toBe('/v1/metrics')
    if (isRefusing) {
      response.writeHead(503).end()
      return
    }
    received.push(body)
    response.setHeader('content-type', 'application/x-protobuf').end()
  })
  const exporter = exporterOf(backend.port)
  const settings = await freshSettings({
    forwardedMetrics: { 'otlp_http/all': exporter },
    metricExporters: { 'otlp_http/all': exporter },
    connector: { metrics: { interval: '100ms' } },
  })
  const first = await startCauseway(settings)
  const numbers = Array.from({ length: 20 }, (_, at) => at)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.sendAll(numbers.map((at) => ({ signal: 'metrics', bytes: metricsRequest([pod(at)]) })))
  expect(await ownMetric(settings, 'otelcol_receiver_accepted_metric_points')).toBe(40)
  await first.end('SIGKILL')

  await using second = await startCauseway(settings)
  isRefusing = false
  const answer = await fetch(`http://127.0.0.1:${settings.ports.http}/v1/metrics`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: metricsJson([pod(20), pod(21)]),
  })
  expect([answer.status, await answer.json()]).toEqual([200, {}])
  const sent = [...numbers.map((at) => metricsRequest([pod(at)])), metricsRequest([pod(20), pod(21)])]
  await eventually(async () => {
    const all = Buffer.concat(received)
    for (const bytes of sent) expect(all.includes(bytes)).toBe(true)
    expect(all.includes('cpid.merges')).toBe(true)
    // Twenty requests of two points each, and one of four.
    expect(await ownMetric(settings, 'otelcol_exporter_queue_size', 'otlp_http/all')).toBe(0)
  })
  expect(await second.end('SIGTERM')).toEqual({ code: 0, signal: null })
  const left = askStored(settings, (db) => db.prepare('SELECT count(*) FROM metric_outbox').pluck().get())
  expect(left).toBe(0)
})

test('nothing is kept for exporters where there are none', async () => {
  const settings = await freshSettings({ forwardedMetrics: {} })
  await using causeway = await startCauseway(settings)
  using sender = new RequestSender(settings.ports.grpc)
  await sender.send({ signal: 'metrics', bytes: metricsRequest([pod(1)]) })
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  const left = askStored(settings, (db) => db.prepare('SELECT count(*) FROM metric_outbox').pluck().get())
  expect(left).toBe(0)
})

const exporterOf = (port: number): unknown => ({
  endpoint: `http://127.0.0.1:${port}`,
  compression: 'none',
  retry_on_failure: { initial_interval: '50ms', max_interval: '200ms' },
})
