import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPeers } from '../../lab/peers/install-peers.ts'
import { METRICS } from '../../src/platform/metric-catalogue.ts'
import type { MetricSpec } from '../../src/platform/metric-spec.ts'
import { dashboards, targetsOf } from '../support/grafana-dashboards.ts'

/** Values by labels. */
type Samples = Readonly<Record<string, number>>

/** Every label of a metric has its own name for a value. */
const EXPORTER = 'exporter="exporter"'
const QUEUE = `data_type="data_type", ${EXPORTER}`
const RATES = { 'instance="a"': 0.1, 'instance="b"': 0.2 }

/** What each expression comes to over five minutes: a counter of b rises by 12 a minute, one of a by 6; gauges are 3 and 5. */
const ANSWERS: Readonly<Record<string, Samples>> = {
  'sum by (instance) (rate(otelcol_receiver_accepted_spans[5m]))': RATES,
  'sum by (exporter) (rate(otelcol_exporter_sent_spans[5m]))': { [EXPORTER]: 0.3 },
  ...gauge('cpid_link_lag'),
  ...gauge('cpid_waiting'),
  ...gauge('otelcol_exporter_queue_size', QUEUE),
  ...gauge('cpid_exporter_lag', QUEUE),
  'sum by (instance, reason) (rate(cpid_refused_requests[5m]))': {
    'instance="a", reason="reason"': 0.1,
    'instance="b", reason="reason"': 0.2,
  },
  'sum by (instance) (increase(otelcol_receiver_refused_spans[5m]))': {
    'instance="a"': 30,
    'instance="b"': 60,
  },
  'sum by (exporter) (increase(otelcol_exporter_send_failed_spans[5m]))': { [EXPORTER]: 90 },
  'sum by (stage) (increase(cpid_set_aside[5m]))': { 'stage="stage"': 90 },
  'sum by (reason) (increase(cpid_mergelogs_refused[5m]))': { 'reason="reason"': 90 },
  'histogram_quantile(0.5, sum by (le) (rate(cpid_cascade_duration_bucket[5m])))': { '': 1 },
  'histogram_quantile(0.99, sum by (le) (rate(cpid_cascade_duration_bucket[5m])))': { '': 4.75 },
  'histogram_quantile(0.95, sum by (le, service) (rate(cpid_hop_latency_bucket[5m])))': {
    'service="service"': 0.075,
  },
  'sum by (cluster, cause) (rate(cpid_inferred_writes[5m]))': { 'cause="cause", cluster="cluster"': 0.3 },
  'sum by (cluster) (increase(cpid_inference_gaps[5m]))': { 'cluster="cluster"': 90 },
  ...gauge('cpid_audit_log_lag_bytes', 'receiver="receiver"'),
  'rate(otelcol_process_cpu_seconds[5m])': {
    'instance="a", job="causeway"': 0.1,
    'instance="b", job="causeway"': 0.2,
  },
  ...gauge('cpid_memory_used_bytes'),
  ...gauge('cpid_memory_soft_limit_bytes'),
  ...gauge('cpid_storage_used_bytes'),
  ...gauge('cpid_storage_wal_bytes'),
  ...gauge('cpid_storage_free_bytes'),
  'histogram_quantile(0.99, sum by (instance, le) (rate(cpid_commit_duration_bucket[5m])))': {
    'instance="a"': 0.0475,
    'instance="b"': 0.0475,
  },
}

function gauge(name: string, labels = ''): Record<string, Samples> {
  const labelled = (instance: string): string =>
    `instance="${instance}", job="causeway"${labels === '' ? '' : `, ${labels}`}`
  return { [name]: { [labelled('a')]: 3, [labelled('b')]: 5 } }
}

const QUESTIONS = dashboards().flatMap((dashboard) =>
  targetsOf(dashboard).flatMap(({ expr, legend = '' }) => (expr === undefined ? [] : [{ expr, legend }])),
)
const shortOf = (expr: string): string =>
  expr.replaceAll('{job=~"$job"}', '').replaceAll('$__rate_interval', '5m')

interface Sender {
  readonly job: string
  readonly instance: string
  readonly aMinute: number
  readonly value: number
}
/** The last is none of those that the dashboard is to show. */
const SENDERS: readonly Sender[] = [
  { job: 'causeway', instance: 'a', aMinute: 6, value: 3 },
  { job: 'causeway', instance: 'b', aMinute: 12, value: 5 },
  { job: 'other', instance: 'c', aMinute: 24, value: 7 },
]

/** A metric as each sends it: of a histogram half are in the fourth bucket, and one of ten in the sixth. */
function seriesOf([name, { kind, labels, buckets = [] }]: [string, MetricSpec]): object[] {
  return SENDERS.flatMap(({ job, instance, aMinute, value }) => {
    const own = labels.map((label) => `${label}="${label}"`)
    const series = (suffix: string, more: string[], values: string): object => ({
      series: `${name}${suffix}{${[...own, ...more, `job="${job}"`, `instance="${instance}"`].join()}}`,
      values,
    })
    if (kind === 'gauge') return [series('', [], `${value}x30`)]
    if (kind === 'counter') return [series('', [], `0+${aMinute}x30`)]
    return [...buckets, '+Inf'].map((most, at) => {
      const part = at < 3 ? 0 : at === 3 ? 5 : at === 4 ? 9 : 10
      return series('_bucket', [`le="${most}"`], `0+${aMinute * part}x30`)
    })
  })
}

/** Compared are whole ten-thousandths, since Prometheus rounds while it calculates. */
const PARTS = 10_000

test("Prometheus answers every expression of the dashboards from Causeway's metrics, of the chosen job alone", async () => {
  expect(QUESTIONS.map(({ expr }) => shortOf(expr)).sort()).toEqual(Object.keys(ANSWERS).sort())
  const cases = {
    tests: [
      {
        interval: '1m',
        input_series: Object.entries<MetricSpec>(METRICS).flatMap(seriesOf),
        promql_expr_test: QUESTIONS.map(({ expr }) => ({
          expr: `round(${PARTS} * (${expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'causeway')}))`,
          eval_time: '20m',
          exp_samples: Object.entries(ANSWERS[shortOf(expr)] ?? {}).map(([labels, value]) => ({
            labels: `{${labels}}`,
            value: Math.round(value * PARTS),
          })),
        })),
      },
    ],
  }
  const folder = await mkdtemp(join(tmpdir(), 'causeway-dashboards-'))
  try {
    await writeFile(join(folder, 'cases.yaml'), JSON.stringify(cases))
    const { promtool } = await installPeers(['promtool'])
    const { status, stdout, stderr } = spawnSync(promtool, ['test', 'rules', 'cases.yaml'], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')])
  } finally {
    await rm(folder, { recursive: true })
  }
})

test.each(QUESTIONS)('$legend names only labels that there are: $expr', ({ expr, legend }) => {
  const [labels = ''] = Object.keys(ANSWERS[shortOf(expr)] ?? {})
  for (const [, label] of legend.matchAll(/\{\{(\w+)\}\}/g)) expect(labels).toMatch(`${label}="`)
})
