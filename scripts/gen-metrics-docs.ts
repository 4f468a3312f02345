import { writeFileSync } from 'node:fs'
import { METRICS } from '../src/telemetry/metric-catalogue.ts'
import type { MetricSpec } from '../src/telemetry/metric-spec.ts'

export const METRICS_DOCS = new URL('../docs/metrics.md', import.meta.url)

const HEADINGS = ['Name', 'Kind', 'Unit', 'Labels', 'Meaning']

/** The text of docs/metrics.md, laid out as prettier leaves it. */
export function renderMetricsDocs(): string {
  const all = Object.entries(METRICS)
  const ours = all.filter(([name]) => name.startsWith('cpid_'))
  const collectors = all.filter(([name]) => !name.startsWith('cpid_'))
  return [
    '# Metrics',
    'Generated from `src/telemetry/metric-catalogue.ts` by `npm run gen`; change it there.',
    'Causeway serves these at `http://localhost:8888/metrics` for Prometheus. Names carry neither `_total` nor a ' +
      'unit,\nas in the OpenTelemetry Collector. A metric with labels appears with its first value.',
    'A scraper that asks for `application/openmetrics-text`, as Prometheus does, gets the same names, and exemplars with\n' +
      '`trace_id` and `span_id` on the buckets of `cpid_cascade_duration` and `cpid_hop_latency`.',
    'A pipeline `metrics/out: { receivers: [cpid], exporters: [otlp_grpc/x] }` sends three of them over OTLP, cumulatively\n' +
      'and with exemplars, every `connectors.cpid.metrics.interval`: `cpid.cascade.duration`, `cpid.hop.latency` (attributes\n' +
      '`service`, who observed, and `kind`, the `apiVersion/resource` observed) and `cpid.merges`.',
    '## The merge graph and its traces',
    table(ours),
    '## As in the Collector',
    table(collectors),
  ]
    .join('\n\n')
    .concat('\n')
}

function table(metrics: [string, MetricSpec][]): string {
  const rows = [HEADINGS, ...metrics.map(([name, spec]) => row(name, spec))]
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)))
  const lines = rows.map(
    (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  )
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return [...lines.slice(0, 1), rule, ...lines.slice(1)].join('\n')
}

function row(name: string, { kind, unit, labels, help }: MetricSpec): string[] {
  return [`\`${name}\``, kind, unit, labels.map((label) => `\`${label}\``).join(', '), help]
}

if (import.meta.main) writeFileSync(METRICS_DOCS, renderMetricsDocs())
