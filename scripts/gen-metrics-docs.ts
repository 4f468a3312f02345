import { METRICS } from '../src/platform/metric-catalogue.ts'
import type { MetricSpec } from '../src/platform/metric-spec.ts'
import { markdownTable } from './markdown-table.ts'
import { METRICS_IN_PRACTICE } from './metrics-in-practice.ts'

export const METRICS_DOCS = new URL('../docs/reference/metrics.md', import.meta.url)

const HEADINGS = ['Name', 'Kind', 'Unit', 'Labels', 'Meaning']
const PRACTICE_HEADINGS = ['Metric', 'Normal', 'When it changes']

const INTRODUCTION = `<!-- Written by npm run gen from src/platform/metric-catalogue.ts and scripts/metrics-in-practice.ts; change it there. -->

# Metrics

For whoever builds dashboards and alerts: every metric of Causeway, with its kind, unit and labels; then, by the questions
that an operator asks, which value is normal and what it means when it changes.

Causeway serves these at \`http://localhost:8888/metrics\` for Prometheus. As in the OpenTelemetry Collector, names carry neither
\`_total\` nor a unit. A metric with labels appears with its first value.

A scraper that asks for \`application/openmetrics-text\`, as Prometheus does, gets the same names. The buckets of
\`cpid_cascade_duration\` and \`cpid_hop_latency\` then have exemplars with \`trace_id\` and \`span_id\`.

A pipeline \`metrics/out: { receivers: [cpid], exporters: [otlp_grpc/x] }\` sends three metrics over OTLP every
\`connectors::cpid::metrics::interval\`, cumulative and with exemplars: \`cpid.cascade.duration\`, \`cpid.hop.latency\` and
\`cpid.merges\`. The attributes of \`cpid.hop.latency\` are \`service\` (which observed the write) and \`kind\` (\`apiVersion/resource\` of
what it observed).`

/** The text of docs/reference/metrics.md. */
export function renderMetricsDocs(): string {
  const all = Object.entries(METRICS)
  const ours = all.filter(([name]) => name.startsWith('cpid_'))
  const collectors = all.filter(([name]) => !name.startsWith('cpid_'))
  return [
    INTRODUCTION,
    '## The merge graph and its traces',
    table(ours),
    '## As in the Collector',
    table(collectors),
    ...METRICS_IN_PRACTICE.flatMap(({ question, note, rows }) => [
      `## ${question}`,
      ...(note === undefined ? [] : [note]),
      practiceTable(rows),
    ]),
  ]
    .join('\n\n')
    .concat('\n')
}

function table(metrics: readonly [string, MetricSpec][]): string {
  const rows = metrics.map(([name, { kind, unit, labels, help }]) => [
    `\`${name}\``,
    kind,
    unit,
    labels.map((label) => `\`${label}\``).join(', '),
    help,
  ])
  return markdownTable(HEADINGS, rows)
}

function practiceTable(rows: (typeof METRICS_IN_PRACTICE)[number]['rows']): string {
  const cells = rows.map(([names, normal, changed]) => [
    names.map((name) => `\`${name}\``).join(', '),
    normal,
    changed,
  ])
  return markdownTable(PRACTICE_HEADINGS, cells)
}
