import type { CausewayConfig, ComponentConfig, ExporterConfig } from '../../config/causeway-config.ts'
import { typeNamed } from '../../config/declarations.ts'
import type { FromExport } from '../../threads/thread-messages.ts'
import type { Components } from '../components.ts'
import { cascadeMetrics } from '../metrics/cascade-metrics.ts'
import { startMetricsPipeline } from '../metrics/metrics-pipeline.ts'
import type { Starting } from '../starting.ts'
import type { StartedStore } from '../store/start-store.ts'
import { systemClock } from '../system-clock.ts'
import { ExportClient } from './export-client.ts'

const METRICS_GRACE_MS = 1_000

/** Starts the thread that sends what was linked, where a pipeline sends it anywhere. */
export async function startSending(starting: Starting, { store, ready }: StartedStore): Promise<void> {
  const { config, components, feed, grace, open, onFatal } = starting
  const exporters = {
    traces: exportersNamed(config.pipelines.outTraces, config),
    logs: exportersNamed(config.pipelines.outLogs, config),
  }
  if (exporters.traces.length + exporters.logs.length === 0) return
  const hear = (message: FromExport): void => {
    feed.fromExport(message)
    if (message.kind === 'moved')
      store.exporterMoved(message.signal, message.exporter, message.position, message.refused)
    if (message.kind === 'setAside') store.setAside(message.items)
    if (message.kind === 'fatal') onFatal(message.reason)
  }
  const sending = await ExportClient.start(
    {
      path: config.cpid.storage.path,
      components: components.module,
      exporters,
      authenticators: authenticatorsOf(config, components),
      positions: ready.positions,
      lastDecisions: ready.lastDecisions,
      userAgent: userAgentOf(starting),
    },
    hear,
  )
  store.onMessage((message) => {
    if (message.kind === 'linked' || message.kind === 'caughtUp') sending.linked(message.lastDecisions)
  })
  open.defer(() => sending.stop(grace.exportMs))
}

/** Starts to send what was measured of cascades, where a pipeline sends it anywhere. */
export async function startSendingMetrics(starting: Starting): Promise<void> {
  const { config, components, resource, log, metrics, feed, open } = starting
  const exporters = exportersNamed(config.pipelines.outMetrics, config)
  if (exporters.length === 0) return
  const settings = {
    components,
    exporters,
    authenticators: authenticatorsOf(config, components),
    intervalMs: config.cpid.metrics.intervalMs,
    graceMs: METRICS_GRACE_MS,
    userAgent: userAgentOf(starting),
    resource,
    read: () => cascadeMetrics(metrics, feed.merges),
  }
  const onTrouble = (reason: string): void => feed.notice(reason)
  open.use(await startMetricsPipeline(settings, { clock: systemClock, log, metrics, onTrouble }))
}

const exportersNamed = (ids: readonly string[], { exporters }: CausewayConfig): ExporterConfig[] =>
  exporters.filter(({ id }) => ids.includes(id))

const userAgentOf = ({ resource }: Starting): string => `Causeway/${resource['service.version']}`

/** Those extensions that exporters may name under `auth`. */
export function authenticatorsOf({ extensions }: CausewayConfig, components: Components): ComponentConfig[] {
  return extensions
    .filter(({ type }) => typeNamed(components.extensions, type)?.loadCredentials !== undefined)
    .map(({ id, type, settings }) => ({ id, type, settings }))
}
