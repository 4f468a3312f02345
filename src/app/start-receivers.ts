import type { AdmissionConfig, CausewayConfig, OtlpReceiverConfig } from '../config/causeway-config.ts'
import type { IngestPort } from '../model/ingest.ts'
import { Flows } from '../receiver/admission/flows.ts'
import { startGrpcReceiver } from '../receiver/otlp/grpc/grpc-receiver.ts'
import { startHttpReceiver } from '../receiver/otlp/http/http-receiver.ts'
import { InFlight } from '../receiver/admission/in-flight.ts'
import type { ReceiverTransport } from '../receiver/otlp/observer.ts'
import type { RunningReceiver } from '../receiver/otlp/receiver-settings.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Authenticator } from '../trust/authenticator.ts'
import { collectGarbage } from '../store/collect-garbage.ts'
import { reportFlows } from './metrics/flow-metrics.ts'
import { memoryLimitsOf, availableMemory } from './resources/memory-limits.ts'
import type { Places } from './resources/open-files.ts'
import type { StoreClient } from './store/store-client.ts'
import type { TelemetryFeed } from './metrics/telemetry-feed.ts'
import { watchMemory } from './resources/watch-memory.ts'

const RECEIVER_GRACE_MS = 2_000
/** Of what may be in flight, a sender that is alone may have so much: there is room for another whenever it comes. */
const SHARE_OF_ONE = 0.25

export interface Receiving {
  store: StoreClient
  feed: TelemetryFeed
  metrics: Metrics
  log: Logger
  /** How many may be connected to each port. */
  places: Places
  /** What a listener that names an authenticator is given. */
  withAuth: (listener: { auth?: string }) => { authenticator?: Authenticator }
  /** Closes what is opened here. */
  open: AsyncDisposableStack
}

/** Starts all receivers behind what guards them in common, and has the metrics tell of that; how many listen is returned. */
export async function startReceivers(config: CausewayConfig, receiving: Receiving): Promise<number> {
  const { store, metrics, log, places, open } = receiving
  const { admission } = config.cpid
  const { maxInFlightBytes, maxFlowRequests, maxFlowBytes } = admission
  const inFlight = new InFlight(maxInFlightBytes)
  const flows = new Flows({
    maxRequests: maxFlowRequests,
    maxBytes: maxFlowBytes,
    maxBytesAlone: Math.max(maxFlowBytes, maxInFlightBytes * SHARE_OF_ONE),
  })
  const collect = (): void => {
    collectGarbage()
    store.collectGarbage()
  }
  const limits = memoryLimitsOf(config.memoryLimiter, availableMemory())
  const memory = open.use(watchMemory(limits, { log, metrics, collect, isIdle: () => inFlight.bytes === 0 }))
  const guards: Guards = { ...guardsOf(admission, places), inFlight, flows, memory }
  const listening: Listening[] = []
  for (const receiver of config.receivers)
    listening.push(...(await listenFor(receiver, guards, store, receiving)))
  reportFlows(flows, metrics)
  metrics.set('cpid_in_flight_limit_bytes', inFlight.maxBytes)
  metrics.set('cpid_connections_limit', places.max)
  metrics.beforeScrape(() => {
    metrics.set('cpid_in_flight_bytes', inFlight.bytes)
    for (const { labels, running } of listening) metrics.set('cpid_connections', running.connections, labels)
  })
  return listening.length
}

interface Guards {
  maxConnections: number
  maxConnectionsPerAddress: number
  requestTimeoutMs: number
  inFlight: InFlight
  flows: Flows
  memory: { readonly isRefusing: boolean }
}

interface Listening {
  running: RunningReceiver
  labels: { receiver: string; transport: ReceiverTransport }
}

const guardsOf = ({ requestTimeoutMs }: AdmissionConfig, { max, maxPerAddress }: Places) => ({
  maxConnections: max,
  maxConnectionsPerAddress: maxPerAddress,
  requestTimeoutMs,
})

async function listenFor(
  { id, grpc, http, signals }: OtlpReceiverConfig,
  guards: Guards,
  port: IngestPort,
  { feed, log, withAuth, open }: Receiving,
): Promise<Listening[]> {
  const onTrouble = (reason: string): void => feed.notice(reason)
  const common = { ...guards, receiver: id, signals, shutdownGraceMs: RECEIVER_GRACE_MS, onTrouble }
  const listening: Listening[] = []
  if (grpc !== undefined) {
    const settings = { ...common, ...grpc, ...withAuth(grpc), maxMessageBytes: grpc.maxRecvMsgSizeBytes }
    const running = open.use(await startGrpcReceiver(settings, port, feed))
    listening.push({ running, labels: { receiver: id, transport: 'grpc' } })
    log.info('Starting GRPC server', { endpoint: `${grpc.host}:${grpc.port}`, 'otelcol.component.id': id })
  }
  if (http !== undefined) {
    const settings = { ...common, ...http, ...withAuth(http), maxMessageBytes: http.maxRequestBodyBytes }
    const running = open.use(await startHttpReceiver(settings, port, feed))
    listening.push({ running, labels: { receiver: id, transport: 'http' } })
    log.info('Starting HTTP server', { endpoint: `${http.host}:${http.port}`, 'otelcol.component.id': id })
  }
  return listening
}
