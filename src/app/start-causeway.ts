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
import { createMetrics, type Metrics, startMetricsServer } from '../platform/metrics.ts'
import { openFilesLimit } from '../platform/open-files.ts'
import { QueryThreads } from '../query/threads/query-threads.ts'
import { type Flow, Flows } from '../receiver/flows.ts'
import { InFlight } from '../receiver/in-flight.ts'
import type { ClusterObserver, ReceiverHost, SourceObserver } from '../receiver/receiver-type.ts'
import type { StoreClient } from '../store/store-client.ts'
import type { Components } from './components.ts'
import { listenerLimits } from './listener-limits.ts'
import { listenerOptionsOf, reportConnections, type StartContext } from './start-context.ts'
import { startSending, startSendingMetrics } from './start-sending.ts'
import { startStore } from './start-store.ts'
import { OwnTelemetry } from './telemetry-feed.ts'

const LINK_GRACE_MS = 2_000
const EXPORT_GRACE_MS = 3_000

/** Disposing drains and stops. */
export interface RunningCauseway extends AsyncDisposable {
  /** Stops for another start at once: requests are answered, and what is durable is left to that start. */
  stopForRestart(): Promise<void>
}

interface StartOptions {
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
): StartContext {
  const places = listenerLimits(config, openFilesLimit())
  if (places.warning !== undefined) log.warn(`Too few files may be open: ${places.warning}.`)
  const serviceInstanceId = `${hostname()}-${randomUUID()}`
  const metrics = createMetrics({ serviceName: 'causeway', serviceVersion: version, serviceInstanceId })
  const feed = new OwnTelemetry({
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

async function startServingMetrics(starting: StartContext): Promise<void> {
  const { config, metrics, places, open } = starting
  if (config.telemetry.metrics === undefined) return
  const door = listenerOptionsOf(starting, 'metrics', places.metrics)
  open.use(await startMetricsServer({ ...config.telemetry.metrics, ...door, metrics }))
}

function running(grace: StartContext['grace'], opened: AsyncDisposableStack): RunningCauseway {
  return {
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
    stopForRestart: () => {
      grace.linkMs = 0
      grace.exportMs = 0
      return opened.disposeAsync()
    },
  }
}

/** What extensions may ask for besides what everything has in common. */
interface ExtensionContext {
  readonly authenticatorOf: AuthenticatorOf
  readonly intake: Intake
  /** Not there for extensions that start before the database. */
  readonly store?: StoreClient
}

/** Starts the extensions that start before the database is opened, or the others, in the order of the configuration. */
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
  { authenticatorOf, intake, store }: ExtensionContext,
): ExtensionHost {
  const { config, resource, log, metrics, feed, places } = starting
  return {
    version: resource['service.version'],
    log,
    metrics,
    doorOf: (path, writeTimeoutMs) => listenerOptionsOf(starting, id, places.extension(path), writeTimeoutMs),
    authenticatorOf,
    openQuestions: (hooks) => new QueryThreads(config.cpid.storage.path, hooks),
    collectGarbage: () => {
      collectGarbage()
      store?.collectGarbage()
    },
    isIdle: () => intake.inFlight.bytes === 0,
    onTrouble: (reason) => feed.notice(reason),
    onFailedQuestion: (reason) => feed.questionFailed(reason),
    onStorageFault: (part, fault) => feed.storage(part, fault),
    onTurnedAway: (reason) => feed.turnedAway({ receiver: id, transport: 'http', reason }),
  }
}

/** What a listener is given; one that names an authenticator never opens without it. */
type AuthenticatorOf = (listener: { auth?: string }) => { authenticator?: Authenticator }

/** Opens the authenticators that listeners name. Rejects with what is wrong with the files of one. */
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
/** Of what may be in flight, a sender that is alone may have so much: there is room for another whenever it comes. */
const SHARE_OF_ONE = 0.25

/** What all receivers take in together. */
interface Intake {
  readonly inFlight: InFlight
  readonly flows: Flows
}

function createIntake({ maxInFlightBytes, maxFlowRequests, maxFlowBytes }: AdmissionConfig): Intake {
  return {
    inFlight: new InFlight(maxInFlightBytes),
    flows: new Flows({
      maxRequests: maxFlowRequests,
      maxBytes: maxFlowBytes,
      maxBytesAlone: Math.max(maxFlowBytes, maxInFlightBytes * SHARE_OF_ONE),
    }),
  }
}

/** What receivers share. */
interface Receiving extends Intake {
  readonly store: IngestPort & { readonly observations: ObservationPort }
  readonly authenticatorOf: AuthenticatorOf
  readonly memory: { readonly isRefusing: boolean }
}

/** Starts all receivers behind what guards them in common, and has the metrics tell of that; by how many ways one gets in is returned. */
async function startReceivers(
  {
    config: { receivers, cpid },
    components,
    feed,
    metrics,
    log,
    places: { receivers: places },
    open,
  }: StartContext,
  { store, authenticatorOf, inFlight, flows, memory }: Receiving,
): Promise<number> {
  const host: ReceiverHost = {
    intake: store,
    inference: store.observations,
    references: parseRelations(cpid.inference.relations).references,
    observer: feed,
    clusters: clusterReports(metrics, (reason) => feed.notice(reason)),
    inFlight,
    flows,
    memory,
    maxConnections: places.max,
    maxConnectionsPerAddress: places.maxPerAddress,
    requestTimeoutMs: cpid.admission.requestTimeoutMs,
    shutdownGraceMs: RECEIVER_GRACE_MS,
    authenticatorOf,
    started: (what, fields) => log.info(what, fields),
    onTrouble: (reason) => feed.notice(reason),
  }
  let ways = 0
  for (const receiver of receivers) {
    const module = await typeNamed(components.receivers, receiver.type)?.load()
    if (module === undefined) throw new Error(`there is no receiver of the type ${receiver.type}`)
    const running = open.use(await module.startReceiver(receiver, host))
    for (const way of running.ways) {
      const listener = { receiver: receiver.id, transport: way.transport }
      reportConnections(metrics, listener, places.max, () => way.connections)
      ways++
    }
  }
  reportFlows(flows, metrics)
  metrics.set('cpid_in_flight_limit_bytes', inFlight.maxBytes)
  metrics.beforeScrape(() => metrics.set('cpid_in_flight_bytes', inFlight.bytes))
  return ways
}

/** Counts what receivers see of clusters; what cannot be read is told to the operator as well. */
function clusterReports(
  metrics: Metrics,
  notice: (reason: string) => void,
): ClusterObserver & SourceObserver {
  return {
    told: (receiver, observations) => metrics.add('cpid_observations', observations, { receiver }),
    skipped: (receiver, reason, count) =>
      metrics.add('cpid_observations_skipped', count, { receiver, reason }),
    unreadable: (receiver, count, reason) => {
      metrics.add('cpid_observations_unreadable', count, { receiver })
      notice(`${receiver}: ${reason}`)
    },
    lost: (receiver, count) => metrics.add('cpid_observations_lost', count, { receiver }),
    behind: (receiver, bytes) => metrics.set('cpid_audit_log_lag_bytes', bytes, { receiver }),
    relisted: (receiver) => metrics.add('cpid_relists', 1, { receiver }),
    watched: (receiver) => metrics.add('cpid_watches', 1, { receiver }),
    refused: (receiver, resources) => metrics.set('cpid_refused_resources', resources, { receiver }),
  }
}

const MAX_NAMES = 100
const OTHERS = 'other'

/** Has every scrape show what each flow has waiting and was refused; after a hundred names the rest are one. */
function reportFlows(flows: Flows, metrics: Metrics): void {
  metrics.set('cpid_flow_limit_requests', flows.maxRequests)
  metrics.set('cpid_flow_limit_bytes', flows.maxBytes)
  const names = new Set<string>()
  const labelled = ({ name }: Flow): string => {
    if (names.size < MAX_NAMES) names.add(name)
    return names.has(name) ? name : OTHERS
  }
  metrics.beforeScrape(() => {
    const waiting = new Map([...names, OTHERS].map((flow) => [flow, { requests: 0, bytes: 0 }]))
    for (const flow of flows.all()) {
      const name = labelled(flow)
      const sum = waiting.get(name) ?? { requests: 0, bytes: 0 }
      waiting.set(name, { requests: sum.requests + flow.requests, bytes: sum.bytes + flow.bytes })
      metrics.add('cpid_flow_refused_requests', flow.takeRefused(), { flow: name })
    }
    for (const [flow, { requests, bytes }] of waiting) {
      metrics.set('cpid_flow_waiting_requests', requests, { flow })
      metrics.set('cpid_flow_waiting_bytes', bytes, { flow })
    }
  })
}
