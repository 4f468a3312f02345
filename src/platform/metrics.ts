import { createServer, type ServerResponse } from 'node:http'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { errorText } from '../model/faults.ts'
import { isFromPage } from './browser-origins.ts'
import {
  chargeAnswer,
  HTTP_SERVER_TIMEOUTS,
  listen,
  type ListenAddress,
  type ListenerOptions,
  type Listening,
} from './http-listener.ts'
import {
  type CounterName,
  type GaugeName,
  type HistogramName,
  type LabelsOf,
  METRICS,
  type TracedName,
} from './metric-catalogue.ts'
import type { MetricSpec } from './metric-spec.ts'
import {
  ExemplarHistogram,
  type Family,
  histogramFamily,
  openMetricsText,
  prefersOpenMetrics,
  prometheusText,
  type Sample,
} from './openmetrics.ts'
import { readInPieces } from './pipelined-requests.ts'

/** Where parts of the program report numbers; the catalogue says what each means. */
export interface MetricSink {
  /** Adds to a counter; the value must not be negative. */
  add<Name extends CounterName>(name: Name, value: number, ...labels: LabelsOf<Name>): void
  set<Name extends GaugeName>(name: Name, value: number, ...labels: LabelsOf<Name>): void
  observe<Name extends HistogramName>(name: Name, value: number, ...labels: LabelsOf<Name>): void
}

export interface Metrics extends MetricSink {
  /** Runs `refresh` before every scrape, for gauges that are cheaper to read than to keep. */
  beforeScrape(refresh: () => void | Promise<void>): void
  /** The histogram behind a metric that has exemplars. */
  traced(name: TracedName): ExemplarHistogram
  /** Everything in the Prometheus text format, or in OpenMetrics; rejects when a refresh does. */
  scrape(format?: ExpositionFormat): Promise<string>
}

type ExpositionFormat = 'prometheus' | 'openmetrics'

const CONTENT_TYPE: Readonly<Record<ExpositionFormat, string>> = {
  prometheus: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: Registry.OPENMETRICS_CONTENT_TYPE,
}

interface ServiceIdentity {
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

const FOREIGN_PAGE =
  'a page in a browser asked, or the name is not known here: call this server by its address\n'

/** Serves `GET /metrics` for Prometheus. Rejects with an error that says what to change when it cannot listen. */
export function startMetricsServer(
  settings: ListenAddress & ListenerOptions & { metrics: Metrics },
): Promise<Listening> {
  const read = readOnce(settings.metrics)
  const server = readInPieces(createServer(HTTP_SERVER_TIMEOUTS))
  server.on('request', (request, response) => {
    if (isFromPage(settings.host, request.headers)) answer(response, 403, FOREIGN_PAGE)
    else if (request.url?.split('?', 1)[0] !== '/metrics') {
      answer(response, 404, 'not found: metrics are at /metrics\n')
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      answer(response, 405, 'use GET\n')
    } else {
      void serve(read, request.headers.accept, response)
    }
  })
  return listen(server, settings, {
    ...settings,
    what: 'The metrics server',
    setting: 'service.telemetry.metrics.readers[].pull.exporter.prometheus.{host,port}',
  })
}

/** Reads the metrics once for all requests within one turn of the event loop. */
function readOnce(metrics: Metrics): (format: ExpositionFormat) => Promise<string> {
  const reading = new Map<ExpositionFormat, Promise<string>>()
  return (format) => {
    let text = reading.get(format)
    if (text === undefined) {
      text = metrics.scrape(format)
      reading.set(format, text)
      setImmediate(() => reading.delete(format))
    }
    return text
  }
}

async function serve(
  read: ReturnType<typeof readOnce>,
  accept: string | undefined,
  response: ServerResponse,
): Promise<void> {
  try {
    const format = prefersOpenMetrics(accept) ? 'openmetrics' : 'prometheus'
    answer(response, 200, await read(format), CONTENT_TYPE[format])
  } catch (error) {
    answer(response, 500, `metrics cannot be read: ${errorText(error)}\n`)
  }
}

function answer(
  response: ServerResponse,
  status: number,
  body: string,
  type = 'text/plain; charset=utf-8',
): void {
  if (chargeAnswer(response, body.length)) response.writeHead(status, { 'content-type': type }).end(body)
  else response.writeHead(503, { 'retry-after': '1' }).end()
}
