import type { ComponentConfig, ExporterConfig } from '../config/causeway-config.ts'
import { countPoints, encodeMetrics, type OwnMetric } from '../model/otlp/encode-telemetry.ts'
import type { Transport } from '../model/outbox.ts'
import type { Clock } from '../model/time-and-size.ts'
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

/** The longest delay of a timer; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

interface Sending {
  config: ExporterConfig
  transport: Transport
  /** Aborts the request in flight. */
  giveUp: AbortController
  done: Promise<void>
}

/**
 * Sends the cascade metrics over OTLP at an interval and once more at the end. They are cumulative, so a request still in flight
 * is aborted when the next is due. Rejects when an exporter's setting is unusable.
 */
export async function startMetricsPipeline(
  settings: MetricsPipelineSettings,
  { clock, log, metrics, onTrouble }: MetricsPipelineHooks,
): Promise<AsyncDisposable> {
  const startMs = clock.wallMs()
  const sendings: Sending[] = []
  for (const config of settings.exporters) sendings.push(await open(config))
  const timer = setInterval(
    () => {
      for (const sending of sendings) send(sending)
    },
    Math.min(settings.intervalMs, MAX_TIMER_MS),
  )

  async function open(config: ExporterConfig): Promise<Sending> {
    const about = { 'otelcol.component.id': config.id }
    const transport = await openTransport(config, 'metrics', {
      components: settings.components,
      userAgent: settings.userAgent,
      authenticators: settings.authenticators,
      onTrouble: (reason) => onTrouble(`exporter ${config.id} ${reason}`),
      writeLine: (line) => log.info(line),
      onRetry: ({ reason, delayMs }) =>
        log.info(WILL_RETRY, { ...about, error: reason, interval: `${delayMs}ms` }),
    })
    return { config, transport, giveUp: new AbortController(), done: Promise.resolve() }
  }

  function send(sending: Sending): void {
    sending.giveUp.abort()
    sending.giveUp = new AbortController()
    sending.done = Promise.all([sending.done, sendOnce(sending, sending.giveUp.signal)]).then(() => undefined)
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
      for (const sending of sendings) send(sending)
      const limit = setTimeout(() => {
        for (const { giveUp } of sendings) giveUp.abort()
      }, settings.graceMs)
      await Promise.all(sendings.map(({ done }) => done))
      clearTimeout(limit)
      for (const { transport } of sendings) await transport[Symbol.asyncDispose]()
    },
  }
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
