import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { ExemplarHistogram } from './exemplar-histogram.ts'
import {
  histogramFamily,
  openMetricsText,
  prometheusText,
  type Family,
  type Sample,
} from './exposition-text.ts'
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  METRICS,
  type TracedName,
} from './metric-catalogue.ts'
import type { MetricSpec } from './metric-spec.ts'

/** Where parts of the program report numbers; the catalogue says what each means. */
export interface MetricSink {
  /** Adds to a counter; the value must not be negative. */
  add<Name extends CounterName>(name: Name, value: number, ...labels: LabelsOf<Name>): void
  set<Name extends GaugeName>(name: Name, value: number, ...labels: LabelsOf<Name>): void
  observe<Name extends HistogramName>(name: Name, value: number, ...labels: LabelsOf<Name>): void
}

export interface Metrics extends MetricSink {
  /** Has `refresh` run before every scrape, for gauges that are cheaper to read than to keep. */
  beforeScrape(refresh: () => void | Promise<void>): void
  /** The histogram behind a metric that has exemplars. */
  traced(name: TracedName): ExemplarHistogram
  /** Everything in the Prometheus text format, or in OpenMetrics; rejects when a refresh does. */
  scrape(format?: ExpositionFormat): Promise<string>
}

export type ExpositionFormat = 'prometheus' | 'openmetrics'

export const CONTENT_TYPE: Readonly<Record<ExpositionFormat, string>> = {
  prometheus: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: Registry.OPENMETRICS_CONTENT_TYPE,
}

export interface ServiceIdentity {
  serviceName: string
  serviceVersion: string
  serviceInstanceId: string
}

/** Makes an instrument for every metric of the catalogue. Each call is a registry of its own. */
export function createMetrics(service: ServiceIdentity): Metrics {
  const registry = new Registry()
  const specs = Object.entries<MetricSpec>(METRICS)
  const plain = specs.filter(([, { exemplars }]) => exemplars !== true)
  const traced = new Map(
    specs
      .filter(([, { exemplars }]) => exemplars === true)
      .map(([name, { buckets }]) => [name, new ExemplarHistogram(buckets ?? [])]),
  )
  const instruments = new Map(plain.map(([name, spec]) => [name, instrument(name, spec, registry)]))
  const refreshes: (() => void | Promise<void>)[] = []

  const metrics: Metrics = {
    add(name, value, ...[labels]) {
      const found = instruments.get(name)
      if (found instanceof Counter) found.inc(labels ?? {}, value)
    },
    set(name, value, ...[labels]) {
      const found = instruments.get(name)
      if (found instanceof Gauge) found.set(labels ?? {}, value)
    },
    observe(name, value, ...[labels]) {
      const found = instruments.get(name)
      if (found instanceof Histogram) found.observe(labels ?? {}, value)
    },
    beforeScrape(refresh) {
      refreshes.push(refresh)
    },
    traced(name) {
      const histogram = traced.get(name)
      if (histogram === undefined) throw new Error(`${name} has no exemplars`)
      return histogram
    },
    async scrape(format = 'prometheus') {
      for (const refresh of refreshes) await refresh()
      const families = [...traced].map(([name, histogram]) => tracedFamily(name as TracedName, histogram))
      if (format === 'openmetrics') return openMetricsText([...(await familiesOf(registry)), ...families])
      return `${await registry.metrics()}\n${families.map(prometheusText).join('\n\n')}\n`
    },
  }
  metrics.set('target_info', 1, {
    service_name: service.serviceName,
    service_version: service.serviceVersion,
    service_instance_id: service.serviceInstanceId,
  })
  return metrics
}

function tracedFamily(name: TracedName, histogram: ExemplarHistogram): Family {
  const { help, labels: labelNames } = METRICS[name]
  return histogramFamily({ name, help, labelNames, bounds: histogram.bounds }, histogram.series)
}

async function familiesOf(registry: Registry): Promise<Family[]> {
  const found = await registry.getMetricsAsJSON()
  return found.map(({ name, help, type, values }) => ({
    name,
    help,
    kind: type as unknown as Family['kind'],
    samples: values.map((value): Sample => ({
      name: 'metricName' in value && typeof value.metricName === 'string' ? value.metricName : name,
      labels: value.labels as Sample['labels'],
      value: value.value,
    })),
  }))
}

type Instrument = Counter | Gauge | Histogram

function instrument(name: string, spec: MetricSpec, registry: Registry): Instrument {
  const { help, read } = spec
  const common = { name, help, labelNames: [...spec.labels], registers: [registry] }
  switch (spec.kind) {
    case 'counter':
      return new Counter({
        ...common,
        ...(read && {
          collect() {
            this.reset()
            this.inc(read())
          },
        }),
      })
    case 'gauge':
      return new Gauge({
        ...common,
        ...(read && {
          collect() {
            this.set(read())
          },
        }),
      })
    case 'histogram':
      return new Histogram({ ...common, buckets: [...(spec.buckets ?? [])] })
  }
}
