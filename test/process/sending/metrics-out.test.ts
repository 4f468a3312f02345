import { expect, test } from '@jest/globals'
import { gunzipSync } from 'node:zlib'
import { startHttpBackend } from '../../../lab/harness/sinks/http-backend.ts'
import { cpid, mergelogEvent, mergelogsRequest, spansRequest } from '../../support/otlp-requests.ts'
import { traceOf } from '../../support/sent-spans.ts'
import { startCauseway } from '../../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from '../support/leave-nothing-behind.ts'
import { freshSettings } from '../../../lab/harness/causeway/causeway-settings.ts'
import { eventually } from '../../../lab/harness/eventually.ts'
import type { OtlpJson } from '../../../src/model/otlp/message-schema.ts'
import { ownMetric } from '../../../lab/harness/causeway/scraped-metrics.ts'
import { RequestSender } from '../../../lab/harness/clients/request-sender.ts'

leaveNothingBehind()

const ALPHA = cpid(0xa)
const POD = 'v1/pods/default/web?rv=7'

test('cascade metrics go out at an interval and at the end, cumulatively, with exemplars; a refusal is counted', async () => {
  let isRefusing = true
  const received: OtlpJson<'Metric'>[][] = []
  await using backend = await startHttpBackend((response, { body, url }) => {
    if (isRefusing) {
      response.writeHead(400).end('not today')
      return
    }
    expect(url).toBe('/v1/metrics')
    received.push(metricsIn(gunzipSync(body)))
    response.setHeader('content-type', 'application/json').end('{}')
  })
  const exporter = { endpoint: `http://127.0.0.1:${backend.port}`, encoding: 'json' }
  const settings = await freshSettings({
    metricExporters: { 'otlp_http/metrics': exporter },
    connector: { metrics: { interval: '100ms' } },
    linking: { wait: '10ms', settle_after: '100ms', max_open: '1s' },
  })
  await using causeway = await startCauseway(settings)
  await eventually(async () => {
    const failed = await ownMetric(
      settings,
      'otelcol_exporter_send_failed_metric_points',
      'otlp_http/metrics',
    )
    expect(failed).toBeGreaterThan(0)
  })
  isRefusing = false
  using sender = new RequestSender(settings.ports.grpc)
  // All in one request: a trace that began with the mergelogs alone might settle before its spans come.
  const events = [mergelogEvent({ new: ALPHA }), mergelogEvent({ new: cpid(0xb), sources: [ALPHA] })]
  await sender.send({
    signal: 'traces',
    bytes: spansRequest('controller', [
      { trace: 1, id: 11, cpid: ALPHA, start: 5, end: 10, attributes: { 'cpid.wrote': [POD] }, events },
      { trace: 2, id: 21, cpid: ALPHA, start: 30, attributes: { 'cpid.observed': [POD] } },
    ]),
  })
  const metrics = await eventually(() => {
    const last = received.at(-1) ?? []
    expect(last.map(({ name }) => name)).toEqual(['cpid.cascade.duration', 'cpid.hop.latency', 'cpid.merges'])
    return last
  })
  const [duration, hop, merges] = metrics
  expect(merges?.sum).toMatchObject({
    isMonotonic: true,
    aggregationTemporality: 2,
    dataPoints: [{ asInt: '1' }],
  })
  expect(duration).toMatchObject({ unit: 's', histogram: { aggregationTemporality: 2 } })
  expect(hop?.histogram?.dataPoints).toMatchObject([
    {
      attributes: [
        { key: 'service', value: { stringValue: 'controller' } },
        { key: 'kind', value: { stringValue: 'v1/pods' } },
      ],
      count: '1',
      sum: 0.02,
      exemplars: [{ traceId: traceOf(ALPHA), spanId: '0000000000000015', asDouble: 0.02 }],
    },
  ])
  const [point] = hop?.histogram?.dataPoints ?? []
  expect(point?.bucketCounts?.length).toBe((point?.explicitBounds?.length ?? 0) + 1)
  expect(await ownMetric(settings, 'cpid_hop_latency_count')).toBe(1)
  expect(await ownMetric(settings, 'cpid_merges')).toBe(1)

  const before = received.length
  await sender.send({
    signal: 'logs',
    bytes: mergelogsRequest('controller', [{ new: cpid(0xc), sources: [ALPHA] }]),
  })
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(received.length).toBeGreaterThan(before)
  const atEnd = received.at(-1) ?? []
  expect(atEnd.find(({ name }) => name === 'cpid.merges')?.sum?.dataPoints).toMatchObject([{ asInt: '2' }])
  const starts = received.flatMap((all) => all.flatMap(({ histogram }) => histogram?.dataPoints ?? []))
  expect(new Set(starts.map(({ startTimeUnixNano }) => startTimeUnixNano)).size).toBe(1)
})

test('a backend slower than the interval gets the metrics, one request after the other, and none counts as failed', async () => {
  const held = Promise.withResolvers<undefined>()
  await using backend = await startHttpBackend((response) => {
    void held.promise.then(() => response.setHeader('content-type', 'application/json').end('{}'))
  })
  const exporter = { endpoint: `http://127.0.0.1:${backend.port}`, encoding: 'json' }
  const settings = await freshSettings({
    metricExporters: { 'otlp_http/metrics': exporter },
    connector: { metrics: { interval: '20ms' } },
  })
  await using causeway = await startCauseway(settings)
  await eventually(() => expect(backend.requests.length).toBe(1))
  const uptime = async (): Promise<number> => (await ownMetric(settings, 'otelcol_process_uptime')) ?? 0
  const asked = await uptime()
  await eventually(async () => expect(await uptime()).toBeGreaterThan(asked + 0.3))
  expect(backend.requests.length).toBe(1)
  held.resolve(undefined)
  await eventually(() => expect(backend.requests.length).toBeGreaterThan(2))
  expect(await ownMetric(settings, 'otelcol_exporter_send_failed_metric_points', 'otlp_http/metrics')).toBe(0)
  expect(await causeway.end('SIGTERM')).toEqual({ code: 0, signal: null })
})

test('the last metrics are sent at the end, also where the request before them fails meanwhile', async () => {
  const held = Promise.withResolvers<undefined>()
  let accepted = 0
  await using backend = await startHttpBackend((response) => {
    if (backend.requests.length > 1) {
      accepted++
      response.setHeader('content-type', 'application/json').end('{}')
    } else void held.promise.then(() => response.writeHead(503).end())
  })
  const exporter = {
    ...{ endpoint: `http://127.0.0.1:${backend.port}`, encoding: 'json' },
    retry_on_failure: { initial_interval: '1h', max_interval: '1h' },
  }
  const settings = await freshSettings({
    metricExporters: { 'otlp_http/metrics': exporter },
    connector: { metrics: { interval: '20ms' } },
  })
  await using causeway = await startCauseway(settings)
  await eventually(() => expect(backend.requests.length).toBe(1))
  const ending = causeway.end('SIGTERM')
  await eventually(() => expect(causeway.errors).toMatch(/Starting shutdown/))
  await eventually(() => expect(fetch(`http://127.0.0.1:${settings.ports.http}/`)).rejects.toThrow())
  held.resolve(undefined)
  expect(await ending).toEqual({ code: 0, signal: null })
  expect(accepted).toBe(1)
})

function metricsIn(body: Buffer): OtlpJson<'Metric'>[] {
  const { resourceMetrics = [] } = JSON.parse(body.toString()) as OtlpJson<'ExportMetricsServiceRequest'>
  return resourceMetrics.flatMap(({ scopeMetrics = [] }) =>
    scopeMetrics.flatMap((scope) => scope.metrics ?? []),
  )
}
