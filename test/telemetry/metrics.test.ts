import { expect, test } from '@jest/globals'
import { METRICS } from '../../src/platform/metric-catalogue.ts'
import type { MetricSpec } from '../../src/platform/metric-spec.ts'
import { createMetrics } from '../../src/platform/metrics.ts'

const service = { serviceName: 'causeway', serviceVersion: '0.1.0', serviceInstanceId: 'one' }

test('what is reported is scraped under the raw names of the Collector', async () => {
  const metrics = createMetrics(service)
  metrics.add('cpid_mergelogs', 2)
  metrics.add('cpid_mergelogs', 3)
  metrics.add('cpid_mergelogs_refused', 1, { reason: 'cycle' })
  metrics.add('otelcol_receiver_accepted_spans', 7, { receiver: 'otlp', transport: 'grpc' })
  metrics.set('otelcol_exporter_queue_size', 4, { exporter: 'debug', data_type: 'traces' })
  metrics.set('cpid_traces_open', 9)
  metrics.set('cpid_traces_open', 8)
  metrics.observe('cpid_commit_duration', 0.003)
  const lines = (await metrics.scrape()).split('\n')
  expect(lines).toEqual(
    expect.arrayContaining([
      '# TYPE cpid_mergelogs counter',
      'cpid_mergelogs 5',
      'cpid_mergelogs_refused{reason="cycle"} 1',
      'otelcol_receiver_accepted_spans{receiver="otlp",transport="grpc"} 7',
      'otelcol_exporter_queue_size{exporter="debug",data_type="traces"} 4',
      'cpid_traces_open 8',
      'cpid_commit_duration_bucket{le="0.0025"} 0',
      'cpid_commit_duration_bucket{le="0.005"} 1',
      'cpid_commit_duration_sum 0.003',
      'cpid_commit_duration_count 1',
      'target_info{service_name="causeway",service_version="0.1.0",service_instance_id="one"} 1',
    ]),
  )
})

test('process metrics are read at each scrape', async () => {
  const metrics = createMetrics(service)
  await metrics.scrape()
  const text = await metrics.scrape()
  const value = (name: string): number => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
  expect(text).toContain('# TYPE otelcol_process_uptime counter')
  for (const [name, spec] of Object.entries(METRICS))
    if ('read' in spec) expect(value(name)).toBeGreaterThan(0)
  expect(value('otelcol_process_uptime')).toBeLessThanOrEqual(process.uptime())
})

test('gauges can be brought up to date before each scrape', async () => {
  const metrics = createMetrics(service)
  let reads = 0
  metrics.beforeScrape(async () => metrics.set('cpid_link_lag', (reads += 1)))
  await metrics.scrape()
  expect(await metrics.scrape()).toContain('\ncpid_link_lag 2\n')
})

test('two sets of metrics do not mix', async () => {
  const one = createMetrics(service)
  const other = createMetrics(service)
  one.add('cpid_commits', 1)
  expect(await other.scrape()).toContain('\ncpid_commits 0\n')
})

test('a counter does not go down', () => {
  expect(() => createMetrics(service).add('cpid_commits', -1)).toThrow()
})

test.each(Object.entries<MetricSpec>(METRICS))('%s is well described', (name, spec) => {
  expect(name).toMatch(/^(otelcol_|cpid_|target_info$)[a-z_]*$/)
  expect(name).not.toMatch(/_total$/)
  expect(spec.help).toMatch(/^[A-Z][^.]*(cpid\.id[^.]*)?\.$/)
  expect(spec.help).not.toContain('|')
  expect(spec.unit === '').toBe(name === 'target_info')
  expect((spec.buckets ?? []).length > 0).toBe(spec.kind === 'histogram')
})
