import type { ComponentConfig, ExporterConfig } from '../config/causeway-config.ts'
import type { HistogramSeries } from '../model/linker-settings-and-metrics.ts'
import { protobufOfJson } from '../model/otlp/json-to-protobuf.ts'
import type { Transport } from '../model/outbox.ts'
import { type Clock, nanosOfMs } from '../model/time-and-size.ts'
import type { Logger } from '../platform/logger.ts'
import { METRICS, type TracedName } from '../platform/metric-catalogue.ts'
import type { Metrics, MetricSink } from '../platform/metrics.ts'
import { DROPPING, openTransport, WILL_RETRY } from './open-transport.ts'
import type { ExporterTypes } from './exporter-type.ts'

interface MetricsPipelineSettings {
  components: ExporterTypes
  exporters: readonly ExporterConfig[]
  authenticators: readonly ComponentConfig[]
  intervalMs: number
  /** How long the last send may take at the end. */
  graceMs: number
  userAgent: string
  resource: Readonly<Record<string, string>>
  /** Everything measured since the start. */
  read: () => OwnMetric[]
}

interface MetricsPipelineHooks {
  clock: Clock
  log: Logger
  metrics: MetricSink
  /** Called with a warning for the operator; sending goes on. */
  onTrouble: (reason: string) => void
}

interface Sending {
  config: ExporterConfig
  transport: Transport
  inFlight: InFlight | undefined
}

interface InFlight {
  giveUp: AbortController
  /** Whether the backend did not take it, so that it is sent again. */
  isRetrying: boolean
  /** The next request is to be sent once this one has ended. */
  isAwaited: boolean
  done: Promise<void>
}

/**
 * Sends the cascade metrics over OTLP at an interval and once more at the end. They are cumulative, so a retry gives way to the
 * next request, and while a request awaits its first answer no other begins: a backend slower than the interval gets them too.
 * Rejects when an exporter's setting is unusable.
 */
export async function startMetricsPipeline(
  settings: MetricsPipelineSettings,
  { clock, log, metrics, onTrouble }: MetricsPipelineHooks,
): Promise<AsyncDisposable> {
  const startMs = clock.wallMs()
  const stop = new AbortController()
  const sendings: Sending[] = []
  for (const config of settings.exporters) sendings.push(await open(config))
  const timer = setInterval(() => {
    for (const sending of sendings) if (isDue(sending)) void send(sending)
  }, settings.intervalMs)

  async function open(config: ExporterConfig): Promise<Sending> {
    const about = { 'otelcol.component.id': config.id }
    const transport = await openTransport(config, 'metrics', {
      components: settings.components,
      userAgent: settings.userAgent,
      authenticators: settings.authenticators,
      onTrouble: (reason) => onTrouble(`exporter ${config.id} ${reason}`),
      writeLine: (line) => log.info(line),
      onRetry: ({ reason, delayMs }) => {
        const { inFlight } = sending
        if (inFlight !== undefined) inFlight.isRetrying = true
        if (inFlight?.isAwaited === true) inFlight.giveUp.abort()
        log.info(WILL_RETRY, { ...about, error: reason, interval: `${delayMs}ms` })
      },
    })
    const sending: Sending = { config, transport, inFlight: undefined }
    return sending
  }

  /** Sends after the request in flight; a retry ends for it. */
  async function send(sending: Sending): Promise<void> {
    const before = sending.inFlight
    if (before !== undefined) before.isAwaited = true
    if (before?.isRetrying === true) before.giveUp.abort()
    await before?.done
    const giveUp = new AbortController()
    const done = sendOnce(sending, AbortSignal.any([giveUp.signal, stop.signal]))
    sending.inFlight = { giveUp, isRetrying: false, isAwaited: false, done }
    await done
    sending.inFlight = undefined
  }

  async function sendOnce({ config, transport }: Sending, signal: AbortSignal): Promise<void> {
    const own = settings.read()
    const request = encodeMetrics(settings.resource, own, { startMs, nowMs: clock.wallMs() })
    const outcome = await transport.send(request, signal)
    const points = countPoints(own)
    const failed = outcome.kind === 'delivered' ? Math.min(outcome.refused, points) : points
    const exporter = { exporter: config.id }
    metrics.add('otelcol_exporter_sent_metric_points', points - failed, exporter)
    metrics.add('otelcol_exporter_send_failed_metric_points', failed, exporter)
    if (outcome.kind === 'retry' || failed === 0) return
    const error = outcome.kind === 'delivered' ? outcome.message : outcome.reason
    log.error(DROPPING, { 'otelcol.component.id': config.id, error, dropped_items: failed })
  }

  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      const limit = setTimeout(() => stop.abort(), settings.graceMs)
      await Promise.all(sendings.map(send))
      clearTimeout(limit)
      for (const { transport } of sendings) await transport[Symbol.asyncDispose]()
    },
  }
}

/** Whether the next request may begin: none is in flight, or one that is only retried. */
function isDue({ inFlight }: Sending): boolean {
  return inFlight === undefined || (inFlight.isRetrying && !inFlight.giveUp.signal.aborted)
}

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

/** One of Causeway's own metrics; everything is counted from the start of the process (cumulative). */
type OwnMetric = { name: string; description: string; unit: string } & (
  | { kind: 'sum'; value: number }
  | {
      kind: 'histogram'
      labelNames: readonly string[]
      bounds: readonly number[]
      series: readonly HistogramSeries[]
    }
)

interface MetricTimes {
  startMs: number
  nowMs: number
}

const CUMULATIVE = 2

/** An ExportMetricsServiceRequest of Causeway's own metrics, under its resource attributes. */
function encodeMetrics(
  resource: Readonly<Record<string, string>>,
  metrics: readonly OwnMetric[],
  times: MetricTimes,
): Uint8Array {
  const scopeMetrics = [
    { scope: { name: 'causeway' }, metrics: metrics.map((metric) => metricJson(metric, times)) },
  ]
  const request = {
    resourceMetrics: [{ resource: { attributes: attributesJson(Object.entries(resource)) }, scopeMetrics }],
  }
  return protobufOfJson('metrics', Buffer.from(JSON.stringify(request)))
}

function countPoints(metrics: readonly OwnMetric[]): number {
  return metrics.reduce((sum, metric) => sum + (metric.kind === 'sum' ? 1 : metric.series.length), 0)
}

function metricJson(metric: OwnMetric, { startMs, nowMs }: MetricTimes): object {
  const { name, description, unit } = metric
  const about = { name, description, unit }
  const times = { startTimeUnixNano: nanosText(startMs), timeUnixNano: nanosText(nowMs) }
  if (metric.kind === 'sum') {
    const dataPoints = [{ ...times, asInt: String(metric.value) }]
    return { ...about, sum: { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true } }
  }
  const { labelNames, bounds, series } = metric
  const dataPoints = series.map(({ labels, counts, sum, exemplars }) => ({
    ...times,
    attributes: attributesJson(labelNames.map((label, at) => [label, labels[at] ?? ''])),
    count: counts.reduce((all, count) => all + count, 0),
    sum,
    bucketCounts: counts,
    explicitBounds: bounds,
    exemplars: exemplars
      .filter((one) => one !== undefined)
      .map(({ value, timeMs, traceId, spanId }) => ({
        ...{ timeUnixNano: nanosText(timeMs), asDouble: value },
        ...{ traceId, spanId },
      })),
  }))
  return { ...about, histogram: { dataPoints, aggregationTemporality: CUMULATIVE } }
}

const nanosText = (ms: number): string => String(nanosOfMs(ms))

function attributesJson(texts: readonly (readonly [string, string])[]): object[] {
  return texts.map(([key, stringValue]) => ({ key, value: { stringValue } }))
}
