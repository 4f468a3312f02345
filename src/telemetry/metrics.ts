import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  METRICS,
  type MetricSpec,
} from './metric-catalogue.ts'

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
  /** Everything in the Prometheus text format; rejects when a refresh does. */
  scrape(): Promise<string>
  /** The Content-Type of `scrape`. */
  readonly contentType: string
}

export interface ServiceIdentity {
  serviceName: string
  serviceVersion: string
  serviceInstanceId: string
}

/** Makes an instrument for every metric of the catalogue. Each call is a registry of its own. */
export function createMetrics(service: ServiceIdentity): Metrics {
  const registry = new Registry()
  const instruments = new Map(
    Object.entries(METRICS).map(([name, spec]) => [name, instrument(name, spec, registry)]),
  )
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
    async scrape() {
      for (const refresh of refreshes) await refresh()
      return registry.metrics()
    },
    contentType: registry.contentType,
  }
  metrics.set('target_info', 1, {
    service_name: service.serviceName,
    service_version: service.serviceVersion,
    service_instance_id: service.serviceInstanceId,
  })
  return metrics
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
