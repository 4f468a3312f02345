import type { CausewayConfig } from '../config/causeway-config.ts'
import type { DropReason } from '../platform/connections.ts'
import type { ListenerOptions } from '../platform/http-listener.ts'
import type { Logger } from '../platform/logger.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { ConnectionQuota } from '../platform/open-files.ts'
import type { Components } from './components.ts'
import type { ListenerLimits } from './listener-limits.ts'
import type { OwnTelemetry } from './telemetry-feed.ts'

/** What everything has in common that is started. */
export interface StartContext {
  readonly config: CausewayConfig
  readonly components: Components
  /** What Causeway's own telemetry says of this process. */
  readonly resource: Readonly<Record<'service.name' | 'service.version' | 'service.instance.id', string>>
  readonly log: Logger
  readonly metrics: Metrics
  readonly feed: OwnTelemetry
  readonly places: ListenerLimits
  /** How long linking and sending may go on at the end, in milliseconds. */
  readonly grace: { linkMs: number; exportMs: number }
  /** Closes what is opened, the last first. */
  readonly open: AsyncDisposableStack
  /** Called when Causeway cannot go on. */
  readonly onFatal: (reason: string) => void
}

/** A listener that people and probes ask: who may be connected, and who is told of what becomes of connections. */
export function listenerOptionsOf(
  { feed, metrics }: Pick<StartContext, 'feed' | 'metrics'>,
  receiver: string,
  places: ConnectionQuota,
  writeTimeoutMs?: number,
): ListenerOptions {
  const listener = { receiver, transport: 'http' }
  return {
    connections: places,
    onOpen: (connections) => reportConnections(metrics, listener, places.max, connections),
    onDrop: (reason: DropReason) => feed.dropped({ ...listener, reason }),
    unread: { writeTimeoutMs, onEnded: () => feed.unread(listener) },
  }
}

/** Has it be told how many connections a listener has whenever somebody asks, and how many it may have. */
export function reportConnections(
  metrics: Metrics,
  listener: { receiver: string; transport: string },
  max: number,
  connections: () => number,
): void {
  metrics.set('cpid_connections_limit', max, listener)
  metrics.beforeScrape(() => metrics.set('cpid_connections', connections(), listener))
}
