import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import type { CausewayConfig } from '../config/causeway-config.ts'
import type { HealthWatcher } from '../extension/extension-type.ts'
import type { Logger } from '../telemetry/logger.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { startMetricsServer } from '../telemetry/metrics-server.ts'
import type { Components } from './components.ts'
import { TelemetryFeed } from './metrics/telemetry-feed.ts'
import { openAuthenticators } from './open-authenticators.ts'
import { listenerLimits } from './resources/listener-limits.ts'
import { openFilesLimit } from './resources/open-files.ts'
import { startSending, startSendingMetrics } from './sending/start-sending.ts'
import { startExtensions } from './start-extensions.ts'
import { createIntake, startReceivers } from './start-receivers.ts'
import { listenerOptionsOf, type Starting } from './starting.ts'
import { startStore } from './store/start-store.ts'

const LINK_GRACE_MS = 2_000
const EXPORT_GRACE_MS = 3_000

/** Disposing drains and stops. */
export interface RunningCauseway extends AsyncDisposable {
  /** Stops for another start at once: requests are answered, and what is durable is left to that start. */
  stopForRestart(): Promise<void>
}

export interface StartOptions {
  version: string
  log: Logger
  /** The types that the configuration was read with. */
  components: Components
  /** Called when Causeway cannot go on. */
  onFatal: (reason: string) => void
}

/**
 * Starts everything the configuration names: when it resolves, all listeners are bound and the database is migrated.
 * Disposing drains and stops; what was not sent is sent after the next start. Rejects with what to do, nothing left open.
 */
export async function startCauseway(config: CausewayConfig, options: StartOptions): Promise<RunningCauseway> {
  await using open = new AsyncDisposableStack()
  const watchers: HealthWatcher[] = []
  const starting = prepare(config, options, watchers, open)
  const { log, feed, components, grace } = starting
  const notice = (reason: string): void => feed.notice(reason)
  const authenticatorOf = await openAuthenticators(config, components, notice, open)
  const intake = createIntake(config.cpid.admission)

  // What is started is stopped in the opposite order: who lets data in first, then whoever works on it, the store last.
  const first = await startExtensions('first', starting, { authenticatorOf, intake })
  watchers.push(...first.flatMap(({ watcher }) => watcher ?? []))
  const started = await startStore(starting)
  await startSendingMetrics(starting)
  await startSending(starting, started)
  const { store } = started
  open.defer(() => store.catchUp(grace.linkMs))
  await startServingMetrics(starting)
  const later = await startExtensions('later', starting, { authenticatorOf, intake, store })
  const memories = later.flatMap(({ memory }) => memory ?? [])
  const ways = await startReceivers(starting, {
    ...intake,
    store,
    authenticatorOf,
    memory: {
      get isRefusing() {
        return memories.some(({ isRefusing }) => isRefusing)
      },
    },
  })
  open.defer(() => log.info('Starting shutdown...'))

  for (const watcher of watchers) watcher.setReady(true)
  open.defer(() => {
    for (const watcher of watchers) watcher.setReady(false)
  })
  log.info('Everything is ready. Begin running and processing data.', { receivers: String(ways) })
  return running(grace, open.move())
}

/** What everything has in common; `watchers` are told how Causeway is. */
function prepare(
  config: CausewayConfig,
  { version, log, components, onFatal }: StartOptions,
  watchers: readonly HealthWatcher[],
  open: AsyncDisposableStack,
): Starting {
  const places = listenerLimits(config, openFilesLimit())
  if (places.warning !== undefined) log.warn(`Too few files may be open: ${places.warning}.`)
  const serviceInstanceId = `${hostname()}-${randomUUID()}`
  const metrics = createMetrics({ serviceName: 'causeway', serviceVersion: version, serviceInstanceId })
  const feed = new TelemetryFeed({
    metrics,
    log,
    onFault: (part, fault) => {
      for (const watcher of watchers) watcher.setFault(part, fault?.reason)
    },
    onWarning: (part, warning) => {
      for (const watcher of watchers) watcher.setWarning(part, warning)
    },
  })
  return {
    config,
    components,
    resource: {
      'service.name': 'causeway',
      'service.version': version,
      'service.instance.id': serviceInstanceId,
    },
    log,
    metrics,
    feed,
    places,
    grace: { linkMs: LINK_GRACE_MS, exportMs: EXPORT_GRACE_MS },
    open,
    onFatal,
  }
}

async function startServingMetrics(starting: Starting): Promise<void> {
  const { config, metrics, places, open } = starting
  if (config.telemetry.metrics === undefined) return
  const door = listenerOptionsOf(starting, 'metrics', places.metrics)
  open.use(await startMetricsServer({ ...config.telemetry.metrics, ...door, metrics }))
}

function running(grace: Starting['grace'], opened: AsyncDisposableStack): RunningCauseway {
  return {
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
    stopForRestart: () => {
      grace.linkMs = 0
      grace.exportMs = 0
      return opened.disposeAsync()
    },
  }
}
