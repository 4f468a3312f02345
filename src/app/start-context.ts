import type { CausewayConfig } from '../config/causeway-config.ts'
import type { DropReason } from '../platform/connections.ts'
import type { ListenerOptions } from '../platform/http-listener.ts'
import type { Logger } from '../platform/logger.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { ConnectionQuota } from '../platform/open-files.ts'
import type { Components } from './components.ts'
import type { ListenerLimits } from './listener-limits.ts'
import type { OwnTelemetry } from './own-telemetry.ts'

export interface StartContext {
  readonly config: CausewayConfig
  readonly components: Components
  /** The resource attributes of Causeway's own telemetry. */
  readonly resource: Readonly<Record<'service.name' | 'service.version' | 'service.instance.id', string>>
  readonly log: Logger
  readonly metrics: Metrics
  readonly telemetry: OwnTelemetry
  readonly quotas: ListenerLimits
  /** How long linking and sending may take at shutdown, in milliseconds. Before a restart, only requests in flight are completed. */
  readonly grace: { linkMs: number; exportMs: number; isRestart: boolean }
  /** Closes what was opened, in reverse order. */
  readonly open: AsyncDisposableStack
  readonly onFatal: (reason: string) => void
}

/** The options of a listener for people and probes: connection limits, and callbacks for closed connections. */
export function listenerOptionsOf(
  { telemetry, metrics }: Pick<StartContext, 'telemetry' | 'metrics'>,
  receiver: string,
  quota: ConnectionQuota,
  writeTimeoutMs?: number,
): ListenerOptions {
  const listener = { receiver, transport: 'http' }
  return {
    connections: quota,
    onOpen: (connections) => reportConnections(metrics, listener, quota.max, connections),
    onDrop: (reason: DropReason) => telemetry.receivers.dropped({ ...listener, reason }),
    unread: { writeTimeoutMs, onEnded: () => telemetry.receivers.unread(listener) },
  }
}

/** Reports at each scrape the number of connections of a listener, and its limit. */
export function reportConnections(
  metrics: Metrics,
  listener: { receiver: string; transport: string },
  max: number,
  connections: () => number,
): void {
  metrics.set('cpid_connections_limit', max, listener)
  metrics.beforeScrape(() => metrics.set('cpid_connections', connections(), listener))
}
