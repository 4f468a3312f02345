import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { AdmissionConfig, CausewayConfig, ExtensionConfig } from '../config/causeway-config.ts'
import { typeNamed } from '../config/component-type.ts'
import type { ExtensionHost, HealthWatcher, RunningExtension } from '../extension/extension-type.ts'
import { parseRelations } from '../kube/inference/relations.ts'
import type { ObservationPort } from '../model/kubernetes-observations.ts'
import type { IngestPort } from '../model/otlp-requests.ts'
import { loginGuard } from '../platform/basic-auth.ts'
import { collectGarbage } from '../platform/collect-garbage.ts'
import type { Authenticator } from '../platform/credentials.ts'
import type { Logger } from '../platform/logger.ts'
import { createMetrics, startMetricsServer } from '../platform/metrics.ts'
import { openFilesLimit } from '../platform/open-files.ts'
import { QueryThreads } from '../query/threads/query-threads.ts'
import { Flows } from '../receiver/flows.ts'
import { InFlight } from '../receiver/in-flight.ts'
import { anyMemory } from '../receiver/intake.ts'
import { clusterReports, reportFlows } from '../receiver/receiver-telemetry.ts'
import type { ReceiverHost } from '../receiver/receiver-type.ts'
import type { StoreClient } from '../store/store-client.ts'
import type { Components } from './components.ts'
import { listenerLimits } from './listener-limits.ts'
import { listenerOptionsOf, reportConnections, type StartContext } from './start-context.ts'
import { startSending, startSendingMetrics } from './start-sending.ts'
import { startStore } from './start-store.ts'
import { OwnTelemetry } from './own-telemetry.ts'

const LINK_GRACE_MS = 2_000
const EXPORT_GRACE_MS = 3_000

/** A running Causeway. Disposing sends what it can in the grace period, then stops. */
export interface RunningCauseway extends AsyncDisposable {
  /** Why the database cannot be used at present; undefined if it can. */
  readonly storageTrouble: string | undefined
  /** Stops for an immediate restart: answers requests in progress, waits for those being sent, and leaves the rest to the next start. */
  stopForRestart(): Promise<void>
}

interface StartOptions {
  version: string
  log: Logger
  /** The component types of the configuration. */
  components: Components
  onFatal: (reason: string) => void
}

/**
 * Starts everything that the configuration names. When it resolves, all listeners are bound and the database is migrated. What is unsent
 * when it is disposed is sent after the next start. If it cannot start, closes everything, and rejects with what to do.
 */
export async function startCauseway(config: CausewayConfig, options: StartOptions): Promise<RunningCauseway> {
  await using open = new AsyncDisposableStack()
  const watchers: HealthWatcher[] = []
  const starting = prepare(config, options, watchers, open)
  const { log, telemetry, components, grace } = starting
  const notice = (reason: string): void => telemetry.notice(reason)
  const authenticatorOf = await openAuthenticators(config, components, notice, open)
  const admission = createAdmission(config.cpid.admission)

  // They stop in reverse order: first receivers, then what processes data, and last the store.
  const first = await startExtensions('first', starting, { authenticatorOf, admission })
  watchers.push(...first.flatMap(({ watcher }) => watcher ?? []))
  const started = await startStore(starting)
  await startSendingMetrics(starting)
  await startSending(starting, started)
  const { store } = started
  open.defer(() => store.catchUp(grace.linkMs))
  await startServingMetrics(starting)
  const later = await startExtensions('later', starting, { authenticatorOf, admission, store })
  const memories = later.flatMap(({ memory }) => memory ?? [])
  const listening = await startReceivers(starting, {
    ...admission,
    store,
    authenticatorOf,
    memory: anyMemory(memories),
  })
  open.defer(() => log.info('Starting shutdown...'))

  for (const watcher of watchers) watcher.setReady(true)
  open.defer(() => {
    for (const watcher of watchers) watcher.setReady(false)
  })
  log.info('Everything is ready. Begin running and processing data.', { receivers: String(listening) })
  return running(telemetry, grace, open.move())
}

/** Makes the context that all parts share. `watchers` are notified of the health of Causeway. */
function prepare(
  config: CausewayConfig,
  { version, log, components, onFatal }: StartOptions,
  watchers: readonly HealthWatcher[],
  open: AsyncDisposableStack,
): StartContext {
  const quotas = listenerLimits(config, openFilesLimit())
  if (quotas.warning !== undefined) log.warn(`Too few files may be open: ${quotas.warning}.`)
  const serviceInstanceId = `${hostname()}-${randomUUID()}`
  const metrics = createMetrics({ serviceName: 'causeway', serviceVersion: version, serviceInstanceId })
  const telemetry = new OwnTelemetry({
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
    telemetry,
    quotas,
    grace: { linkMs: LINK_GRACE_MS, exportMs: EXPORT_GRACE_MS, isRestart: false },
    open,
    onFatal,
  }
}

async function startServingMetrics(starting: StartContext): Promise<void> {
  const { config, metrics, quotas, open } = starting
  if (config.telemetry.metrics === undefined) return
  const options = listenerOptionsOf(starting, 'metrics', quotas.metrics)
  open.use(await startMetricsServer({ ...config.telemetry.metrics, ...options, metrics }))
}

function running(
  telemetry: OwnTelemetry,
  grace: StartContext['grace'],
  opened: AsyncDisposableStack,
): RunningCauseway {
  return {
    get storageTrouble() {
      return telemetry.storageTrouble
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
    stopForRestart: () => {
      grace.linkMs = 0
      grace.isRestart = true
      return opened.disposeAsync()
    },
  }
}

interface ExtensionContext {
  readonly authenticatorOf: AuthenticatorOf
  readonly admission: SharedAdmission
  /** Absent for extensions that start before the database. */
  readonly store?: StoreClient
}

/** Starts the extensions of one stage, in the order of the configuration: those that start before the database is opened, or the others. */
async function startExtensions(
  stage: 'first' | 'later',
  starting: StartContext,
  context: ExtensionContext,
): Promise<RunningExtension[]> {
  const running: RunningExtension[] = []
  for (const extension of starting.config.extensions) {
    const type = typeNamed(starting.components.extensions, extension.type)
    if (type?.load === undefined || (type.startsFirst === true) !== (stage === 'first')) continue
    const module = await type.load()
    const host = hostOf(extension, starting, context)
    running.push(starting.open.use(await module.startExtension(extension, host)))
  }
  return running
}

function hostOf(
  { id }: ExtensionConfig,
  starting: StartContext,
  { authenticatorOf, admission, store }: ExtensionContext,
): ExtensionHost {
  const { config, resource, log, metrics, telemetry, quotas } = starting
  return {
    version: resource['service.version'],
    log,
    metrics,
    listenerOptionsOf: (path, writeTimeoutMs) =>
      listenerOptionsOf(starting, id, quotas.extension(path), writeTimeoutMs),
    authenticatorOf,
    openQuestions: (hooks) => new QueryThreads(config.cpid.storage.path, hooks),
    collectGarbage: () => {
      collectGarbage()
      store?.tell({ kind: 'collectGarbage' })
    },
    isIdle: () => admission.inFlight.bytes === 0,
    onTrouble: (reason) => telemetry.notice(reason),
    onFailedQuestion: (reason) => telemetry.questionFailed(reason),
    onStorageFault: (part, fault) => telemetry.storage(part, fault),
    onUnauthenticated: (reason) =>
      telemetry.receivers.unauthenticated({ receiver: id, transport: 'http', reason }),
  }
}

/** Returns the authenticator of a listener. A listener that names one is never opened without it. */
type AuthenticatorOf = (listener: { auth?: string }) => { authenticator?: Authenticator }

/** Opens the authenticators that listeners name. Rejects if a file is unusable. */
async function openAuthenticators(
  { receivers, extensions }: CausewayConfig,
  components: Components,
  onTrouble: (reason: string) => void,
  open: AsyncDisposableStack,
): Promise<AuthenticatorOf> {
  const listeners = [...receivers, ...extensions].flatMap((component) => component.listeners)
  const used = new Set(listeners.map(({ auth }) => auth))
  const guard = loginGuard()
  const opened = new Map<string, Authenticator>()
  for (const { id, type, settings } of extensions.filter(({ id }) => used.has(id))) {
    const module = await typeNamed(components.extensions, type)?.loadCredentials?.()
    if (module !== undefined)
      opened.set(id, open.use(module.openAuthenticator(id, settings, { onTrouble, guard })))
  }
  return ({ auth }) => {
    if (auth === undefined) return {}
    const authenticator = opened.get(auth)
    if (authenticator === undefined) throw new Error(`the authenticator ${auth} is not open`)
    return { authenticator }
  }
}

const RECEIVER_GRACE_MS = 2_000
/** The share of the in-flight limit that a single sender may use, so that there is room for another. */
const SHARE_OF_ONE = 0.25

/** The in-flight limits that all receivers share. */
interface SharedAdmission {
  readonly inFlight: InFlight
  readonly flows: Flows
}

function createAdmission({
  maxInFlightBytes,
  maxFlowRequests,
  maxFlowBytes,
}: AdmissionConfig): SharedAdmission {
  return {
    inFlight: new InFlight(maxInFlightBytes),
    flows: new Flows({
      maxRequests: maxFlowRequests,
      maxBytes: maxFlowBytes,
      maxBytesAlone: Math.max(maxFlowBytes, maxInFlightBytes * SHARE_OF_ONE),
    }),
  }
}

interface ReceiverDependencies extends SharedAdmission {
  readonly store: IngestPort & { readonly observations: ObservationPort }
  readonly authenticatorOf: AuthenticatorOf
  readonly memory: { readonly isRefusing: boolean }
}

/** Starts all receivers with shared limits, which it reports as metrics. Resolves to the number of listeners. */
async function startReceivers(
  {
    config: { receivers, cpid },
    components,
    telemetry,
    metrics,
    log,
    quotas: { receivers: quota },
    open,
  }: StartContext,
  { store, authenticatorOf, inFlight, flows, memory }: ReceiverDependencies,
): Promise<number> {
  const host: ReceiverHost = {
    ingestPort: store,
    observationPort: store.observations,
    reading: {
      references: parseRelations(cpid.inference.relations).references,
      fieldValues: cpid.inference.fieldValues,
    },
    observer: telemetry.receivers,
    clusterObserver: clusterReports(metrics, (reason) => telemetry.notice(reason)),
    inFlight,
    flows,
    memory,
    maxConnections: quota.max,
    maxConnectionsPerAddress: quota.maxPerAddress,
    requestTimeoutMs: cpid.admission.requestTimeoutMs,
    shutdownGraceMs: RECEIVER_GRACE_MS,
    authenticatorOf,
    started: (what, fields) => log.info(what, fields),
    onTrouble: (reason) => telemetry.notice(reason),
    onWarning: (receiver, warning) => telemetry.warning(receiver, warning),
  }
  let started = 0
  for (const receiver of receivers) {
    const module = await typeNamed(components.receivers, receiver.type)?.load()
    if (module === undefined) throw new Error(`there is no receiver of the type ${receiver.type}`)
    const running = open.use(await module.startReceiver(receiver, host))
    for (const each of running.listeners) {
      const listener = { receiver: receiver.id, transport: each.transport }
      reportConnections(metrics, listener, quota.max, () => each.connections)
      started++
    }
  }
  reportFlows(flows, metrics)
  metrics.set('cpid_in_flight_limit_bytes', inFlight.maxBytes)
  metrics.beforeScrape(() => metrics.set('cpid_in_flight_bytes', inFlight.bytes))
  return started
}
