import { expect, test } from '@jest/globals'
import { createMetrics, type Metrics, startMetricsServer } from '../../src/platform/metrics.ts'
import { prefersOpenMetrics } from '../../src/platform/openmetrics.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
/** As Prometheus asks. */
const PROMETHEUS =
  'application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,' +
  'text/plain;version=0.0.4;q=0.3,*/*;q=0.2'

function measured(): Metrics {
  const metrics = createMetrics({ serviceName: 'causeway', serviceVersion: '1', serviceInstanceId: 'one' })
  metrics.add('cpid_merges', 3)
  metrics.observe('cpid_commit_duration', 0.003)
  const exemplar = { value: 0.3, timeMs: 1_767_225_600_500, traceId: TRACE, spanId: SPAN }
  metrics.traced('cpid_hop_latency').observe(['a "b"\\c', 'apps/v1/replicasets'], exemplar)
  metrics.traced('cpid_cascade_duration').observe([], { ...exemplar, value: 7 })
  return metrics
}

test('a scraper that asks for OpenMetrics gets exemplars with the ids of the span, under the same names', async () => {
  await using server = await startMetricsServer({ host: '127.0.0.1', port: 0, metrics: measured() })
  const response = await fetch(`http://127.0.0.1:${server.port}/metrics`, { headers: { accept: PROMETHEUS } })
  expect(response.headers.get('content-type')).toBe(
    'application/openmetrics-text; version=1.0.0; charset=utf-8',
  )
  const text = await response.text()
  const hop = 'service="a \\"b\\"\\\\c",kind="apps/v1/replicasets"'
  const ids = `{trace_id="${TRACE}",span_id="${SPAN}"}`
  expect(text.split('\n')).toEqual(
    expect.arrayContaining([
      '# TYPE cpid_merges unknown',
      'cpid_merges 3',
      '# TYPE cpid_commit_duration histogram',
      'cpid_commit_duration_bucket{le="1.0"} 1',
      '# TYPE cpid_hop_latency histogram',
      `cpid_hop_latency_bucket{${hop},le="0.25"} 0`,
      `cpid_hop_latency_bucket{${hop},le="0.5"} 1 # ${ids} 0.3 1767225600.500`,
      `cpid_hop_latency_bucket{${hop},le="1.0"} 1`,
      `cpid_hop_latency_bucket{${hop},le="+Inf"} 1`,
      `cpid_hop_latency_sum{${hop}} 0.3`,
      `cpid_hop_latency_count{${hop}} 1`,
      `cpid_cascade_duration_bucket{le="10.0"} 1 # ${ids} 7 1767225600.500`,
      'cpid_cascade_duration_count 1',
    ]),
  )
  expect(text.endsWith('\n# EOF\n')).toBe(true)
  const families = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
  expect(new Set(families).size).toBe(families.length)
})

test('every other scraper gets the text format, which has no exemplars', async () => {
  await using server = await startMetricsServer({ host: '127.0.0.1', port: 0, metrics: measured() })
  const response = await fetch(`http://127.0.0.1:${server.port}/metrics`)
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
  const text = await response.text()
  expect(text).toContain('\n# TYPE cpid_merges counter\ncpid_merges 3\n')
  expect(text).toContain('\ncpid_cascade_duration_bucket{le="10"} 1\n')
  expect(text).not.toContain(TRACE)
  expect(text).not.toContain('# EOF')
})

test.each([
  [undefined, false],
  ['*/*', false],
  ['text/plain', false],
  ['application/openmetrics-text; version=1.0.0', true],
  ['application/openmetrics-text;q=0', false],
  ['text/plain;q=0.9, application/openmetrics-text;q=0.1', false],
  [PROMETHEUS, true],
])('Accept: %s', (accept, expected) => {
  expect(prefersOpenMetrics(accept)).toBe(expected)
})
