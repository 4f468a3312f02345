import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import type { CausewayConfig } from '../config/causeway-config.ts'
import type { DropReason } from '../doors/connections.ts'
import type { StorageFault } from '../model/storage-fault.ts'
import { startHealthServer } from '../telemetry/health-server.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { startMetricsServer } from '../telemetry/metrics-server.ts'
import type { Authenticator } from '../trust/authenticator.ts'
import { loginGuard } from '../trust/basic-logins.ts'
import { openAuthenticator } from './authenticators.ts'
import { cascadeMetrics } from './metrics/cascade-metrics.ts'
import { collectGarbage } from '../store/collect-garbage.ts'
import { doorPlaces } from './resources/door-places.ts'
import { ExportClient } from './sending/export-client.ts'
import { openFilesLimit, type Places } from './resources/open-files.ts'
import { startMetricsPipeline } from './metrics/metrics-pipeline.ts'
import { startQueries } from './questions/start-queries.ts'
import { startReceivers } from './start-receivers.ts'
import { whyNotPrivate } from '../sqlite/private-file.ts'
import { StoreClient } from './store/store-client.ts'
import { systemClock } from './system-clock.ts'
import { TelemetryFeed, type FeedSinks } from './metrics/telemetry-feed.ts'

const LINK_GRACE_MS = 2_000
const EXPORT_GRACE_MS = 3_000
const METRICS_GRACE_MS = 1_000

/** Disposing drains and stops. */
export interface RunningCauseway extends AsyncDisposable {
  /** Stops for another start at once: requests are answered, and what is durable is left to that start. */
  stopForRestart(): Promise<void>
}

export interface StartOptions {
  version: string
  log: Logger
  /** Called when Causeway cannot go on. */
  onFatal: (reason: string) => void
}

/**
 * Starts everything the configuration names: when it resolves, all listeners are bound and the database is migrated.
 * Disposing drains and stops; what was not sent is sent after the next start. Rejects with what to do, nothing left open.
 */
export async function startCauseway(config: CausewayConfig, options: StartOptions): Promise<RunningCauseway> {
  const { log, version } = options
  await using open = new AsyncDisposableStack()
  const graceMs = { link: LINK_GRACE_MS, export: EXPORT_GRACE_MS }
  const places = doorPlaces(config, openFilesLimit())
  if (places.warning !== undefined) log.warn(`Too few files may be open: ${places.warning}.`)
  const told: { feed?: TelemetryFeed } = {}
  const doorOf = (receiver: string, connections: Places, writeTimeoutMs?: number) => ({
    connections,
    onDrop: (reason: DropReason): void => told.feed?.dropped({ receiver, transport: 'http', reason }),
    unread: {
      writeTimeoutMs,
      onEnded: (): void => told.feed?.unread({ receiver, transport: 'http' }),
    },
  })
  const healthDoor = doorOf('health_check', places.health)
  const health =
    config.healthCheck && open.use(await startHealthServer({ ...config.healthCheck, ...healthDoor }))
  const serviceInstanceId = `${hostname()}-${randomUUID()}`
  const metrics = createMetrics({ serviceName: 'causeway', serviceVersion: version, serviceInstanceId })
  const { path } = config.cpid.storage
  const { outTraces, outLogs, outMetrics } = config.pipelines
  const exporters = {
    traces: config.exporters.filter(({ id }) => outTraces.includes(id)),
    logs: config.exporters.filter(({ id }) => outLogs.includes(id)),
  }
  const { store, ready } = await StoreClient.start({
    path,
    linking: { ...config.cpid.linking, logs: outLogs.length > 0 },
    maxSources: config.cpid.maxSources,
    maxSeries: config.cpid.metrics.maxSeries,
    ...(config.cpid.senders && { senders: config.cpid.senders }),
    retention: config.cpid.retention,
    exporters: { traces: outTraces, logs: outLogs },
  })
  open.defer(() => store.stop())
  const onFault: FeedSinks['onFault'] = (part, fault) => health?.setFault(part, fault?.reason)
  const onWarning: FeedSinks['onWarning'] = (part, warning) => health?.setWarning(part, warning)
  const feed = new TelemetryFeed({ metrics, log, onFault, onWarning }, ready)
  told.feed = feed
  const wide = whyNotPrivate(path)
  if (wide !== undefined) feed.notice(wide)
  store.onMessage((message) => {
    feed.fromStore(message)
    if (message.kind === 'fatal') options.onFatal(message.reason)
    if (message.kind === 'resting') collectGarbage()
  })

  if (outMetrics.length > 0) {
    const settings = {
      exporters: config.exporters.filter(({ id }) => outMetrics.includes(id)),
      authenticators: config.authenticators,
      intervalMs: config.cpid.metrics.intervalMs,
      graceMs: METRICS_GRACE_MS,
      userAgent: `Causeway/${version}`,
      resource: {
        'service.name': 'causeway',
        'service.version': version,
        'service.instance.id': serviceInstanceId,
      },
      read: () => cascadeMetrics(metrics, feed.merges),
    }
    const onTrouble = (reason: string): void => feed.notice(reason)
    open.use(startMetricsPipeline(settings, { clock: systemClock, log, metrics, onTrouble }))
  }

  if (exporters.traces.length + exporters.logs.length > 0) {
    const sending = await ExportClient.start(
      {
        path,
        exporters,
        authenticators: config.authenticators,
        positions: ready.positions,
        lastDecisions: ready.lastDecisions,
        userAgent: `Causeway/${version}`,
      },
      (message) => {
        feed.fromExport(message)
        if (message.kind === 'moved')
          store.exporterMoved(message.signal, message.exporter, message.position, message.refused)
        if (message.kind === 'setAside') store.setAside(message.items)
        if (message.kind === 'fatal') options.onFatal(message.reason)
      },
    )
    store.onMessage((message) => {
      if (message.kind === 'linked' || message.kind === 'caughtUp') sending.linked(message.lastDecisions)
    })
    open.defer(() => sending.stop(graceMs.export))
  }
  open.defer(() => store.catchUp(graceMs.link))

  const authenticators = openAuthenticators(config, feed, open)
  if (config.telemetry.metrics !== undefined) {
    const metricsDoor = doorOf('metrics', places.metrics)
    open.use(await startMetricsServer({ ...config.telemetry.metrics, ...metricsDoor, metrics }))
  }
  if (config.query !== undefined) {
    const onTrouble = (reason: string): void => feed.questionFailed(reason)
    const { auth } = config.query
    const onNotice = (reason: string): void => feed.notice(reason)
    const onTurnedAway = (reason: string): void =>
      feed.turnedAway({ receiver: 'cpid_query', transport: 'http', reason })
    const onFault = (fault: StorageFault): void => feed.storage('query', fault)
    const hooks = {
      version,
      ...authenticatorNamed(auth, authenticators),
      onTrouble,
      onNotice,
      onTurnedAway,
      onFault,
      ...doorOf('cpid_query', places.query, config.query.writeTimeoutMs),
    }
    open.use(await startQueries(config.query, path, hooks))
  }
  const withAuth = ({ auth }: { auth?: string }) => authenticatorNamed(auth, authenticators)
  const receivers = await startReceivers(config, {
    store,
    feed,
    metrics,
    log,
    places: places.receivers,
    withAuth,
    open,
  })
  open.defer(() => {
    log.info('Starting shutdown...')
  })
  health?.setReady(true)
  open.defer(() => health?.setReady(false))
  log.info('Everything is ready. Begin running and processing data.', { receivers: String(receivers) })
  const opened = open.move()
  return {
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
    stopForRestart: () => {
      graceMs.link = 0
      graceMs.export = 0
      return opened.disposeAsync()
    },
  }
}

/** Those that listeners name, by id. */
function openAuthenticators(
  { receivers, query, authenticators }: CausewayConfig,
  feed: TelemetryFeed,
  open: AsyncDisposableStack,
): Map<string, Authenticator> {
  const used = new Set([...receivers.flatMap(({ grpc, http }) => [grpc?.auth, http?.auth]), query?.auth])
  const guard = loginGuard()
  const opened = authenticators
    .filter(({ id }) => used.has(id))
    .map(
      (config) =>
        [config.id, open.use(openAuthenticator(config, (reason) => feed.notice(reason), guard))] as const,
    )
  return new Map(opened)
}

/** What a listener is given; one that names an authenticator never opens without it. */
function authenticatorNamed(
  id: string | undefined,
  authenticators: ReadonlyMap<string, Authenticator>,
): { authenticator?: Authenticator } {
  if (id === undefined) return {}
  const authenticator = authenticators.get(id)
  if (authenticator === undefined) throw new Error(`the authenticator ${id} is not open`)
  return { authenticator }
}
