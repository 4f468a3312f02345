import {
  type CausewayConfig,
  type ComponentConfig,
  type ExporterConfig,
  exporterIdsOf,
} from '../config/causeway-config.ts'
import { typeNamed } from '../config/component-type.ts'
import { cascadeMetrics, startMetricsPipeline } from '../exporter/metrics-pipeline.ts'
import type { Signal } from '../model/otlp-requests.ts'
import { ChildThread } from '../platform/child-thread.ts'
import { systemClock } from '../platform/system-clock.ts'
import type { ExportThreadData, FromExport, ToExport } from '../exporter/export-messages.ts'
import type { Components } from './components.ts'
import type { StartContext } from './start-context.ts'
import type { StartedStore } from './start-store.ts'

const METRICS_GRACE_MS = 1_000

/** Starts the export thread if a pipeline has exporters. */
export async function startSending(starting: StartContext, { store, ready }: StartedStore): Promise<void> {
  const { config, components, telemetry, grace, open, onFatal } = starting
  const ids = exporterIdsOf(config)
  const exporters = {
    traces: exportersNamed(ids.exporters.traces, config),
    logs: exportersNamed(ids.exporters.logs, config),
    metrics: exportersNamed(ids.exporters.metrics, config),
  }
  const archives = exportersNamed(ids.archives, config)
  if (Object.values(exporters).flat().length + archives.length === 0) return
  const hear = (message: FromExport): void => {
    telemetry.fromExport(message)
    if (message.kind === 'moved') {
      const { signal, exporter, position, refused } = message
      store.tell({ kind: 'exporterMoved', signal, exporter, position, refused })
    }
    if (message.kind === 'archived') {
      const { exporter, position, refused } = message
      store.tell({ kind: 'archiveMoved', exporter, position, refused })
    }
    if (message.kind === 'setAside') store.tell(message)
    if (message.kind === 'fatal') onFatal(message.reason)
  }
  const sending = await ExportClient.start(
    {
      path: config.cpid.storage.path,
      components: components.module,
      exporters,
      authenticators: authenticatorsOf(config, components),
      positions: ready.positions,
      archives,
      keptArchives: ready.archives,
      lastDecisions: ready.lastDecisions,
      userAgent: userAgentOf(starting),
    },
    hear,
  )
  store.onMessage((message) => {
    if (message.kind === 'linked' || message.kind === 'caughtUp' || message.kind === 'ingested')
      if (message.lastDecisions !== undefined) sending.linked(message.lastDecisions)
    if (message.kind === 'resting') sending.collectGarbage()
  })
  open.defer(() => sending.stop(grace))
}

/** Starts sending cascade metrics if a metrics pipeline has exporters. */
export async function startSendingMetrics(starting: StartContext): Promise<void> {
  const { config, components, resource, log, metrics, telemetry, open } = starting
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
    read: () => cascadeMetrics(metrics, telemetry.merges),
  }
  const onTrouble = (reason: string): void => telemetry.notice(reason)
  open.use(await startMetricsPipeline(settings, { clock: systemClock, log, metrics, onTrouble }))
}

const exportersNamed = (ids: readonly string[], { exporters }: CausewayConfig): ExporterConfig[] =>
  exporters.filter(({ id }) => ids.includes(id))

const userAgentOf = ({ resource }: StartContext): string => `Causeway/${resource['service.version']}`

/** The extensions that exporters may name under `auth`. */
export function authenticatorsOf({ extensions }: CausewayConfig, components: Components): ComponentConfig[] {
  return extensions
    .filter(({ type }) => typeNamed(components.extensions, type)?.loadCredentials !== undefined)
    .map(({ id, type, settings }) => ({ id, type, settings }))
}

/** The main thread's side of the export thread. */
class ExportClient {
  readonly #thread: ChildThread<ToExport, FromExport>
  #isStopping = false

  private constructor(thread: ChildThread<ToExport, FromExport>, listener: (message: FromExport) => void) {
    this.#thread = thread
    thread.listen((message) => {
      listener(message)
      // A pending connection attempt would keep the thread alive.
      if (message.kind === 'stopped') thread.terminate()
    })
    void thread.ended.then((why) => {
      if (this.#isStopping) return
      const reason = `the export thread ended by itself (${why}); nothing acknowledged is lost: start Causeway again`
      listener({ kind: 'fatal', reason })
    })
  }

  /** Starts the thread. If the settings of an exporter are unusable, rejects with an error that says what to do. */
  static async start(data: ExportThreadData, listener: (message: FromExport) => void): Promise<ExportClient> {
    const { thread } = await ChildThread.start<ToExport, FromExport>({
      name: 'export',
      file: new URL('../exporter/export-thread.ts', import.meta.url),
      data,
      youngMib: 8,
      oldMib: 2048,
    })
    return new ExportClient(thread, listener)
  }

  linked(lastDecisions: Record<Signal, number>): void {
    this.#thread.post({ kind: 'linked', lastDecisions })
  }

  collectGarbage(): void {
    this.#thread.post({ kind: 'collectGarbage' })
  }

  /** Sends for the grace period, then stops. The rest is sent after the next start. */
  async stop({ exportMs, isRestart }: StartContext['grace']): Promise<void> {
    this.#isStopping = true
    this.#thread.post({ kind: 'stop', graceMs: exportMs, isRestart })
    await this.#thread.ended
  }
}
