import type { OwnMetric } from '../../otlp/write/encode-metrics.ts'
import { METRICS, type TracedName } from '../../telemetry/metric-catalogue.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

/** The cascade metrics as a metrics pipeline sends them. */
export function cascadeMetrics(metrics: Pick<Metrics, 'traced'>, merges: number): OwnMetric[] {
  const histogram = (name: string, traced: TracedName): OwnMetric => {
    const { bounds, series } = metrics.traced(traced)
    const { help, labels } = METRICS[traced]
    return { kind: 'histogram', name, description: help, unit: 's', labelNames: labels, bounds, series }
  }
  const all: OwnMetric[] = [
    histogram('cpid.cascade.duration', 'cpid_cascade_duration'),
    histogram('cpid.hop.latency', 'cpid_hop_latency'),
    {
      kind: 'sum',
      name: 'cpid.merges',
      description: METRICS.cpid_merges.help,
      unit: '{merge}',
      value: merges,
    },
  ]
  return all.filter((metric) => metric.kind === 'sum' || metric.series.length > 0)
}
