import type { CausewayConfig, ConnectionsConfig } from '../config/causeway-config.ts'
import { type ConnectionQuota, fitQuotas } from '../platform/open-files.ts'

/** The most connections of each listener. */
export interface ListenerLimits {
  /** For each listener of a receiver. */
  receivers: ConnectionQuota
  /** For the listener of an extension, by the path of its keys. */
  extension: (path: string) => ConnectionQuota
  metrics: ConnectionQuota
  /** A warning if the limit of open files may be too low, with what to change. */
  warning: string | undefined
}

/** The default share of the connections that one address may have. */
const SHARE_OF_ONE_ADDRESS = 0.25
/** For health checks and metrics: Prometheus and a kubelet need one or two connections. */
const PROBE_QUOTA: ConnectionQuota = { max: 64, maxPerAddress: 32 }

/** The limits for a process with at most `openFiles` open files. */
export function listenerLimits(
  { receivers, extensions, telemetry, cpid }: CausewayConfig,
  openFiles: number | undefined,
): ListenerLimits {
  const toReceivers = receivers.flatMap(({ listeners }) => listeners).map(() => quotaOf(cpid.admission))
  const asked = extensions.flatMap(({ listeners }) => listeners)
  const toAsked = asked.map(({ connections }) =>
    connections === undefined ? PROBE_QUOTA : quotaOf(connections),
  )
  const toMetrics = telemetry.metrics === undefined ? [] : [PROBE_QUOTA]
  const { quotas, warning } = fitQuotas([...toReceivers, ...toAsked, ...toMetrics], openFiles)
  const fitted = new Map(asked.map(({ path }, at) => [path, quotas[toReceivers.length + at]]))
  return {
    receivers: toReceivers.length === 0 ? quotaOf(cpid.admission) : (quotas[0] ?? PROBE_QUOTA),
    extension: (path) => fitted.get(path) ?? PROBE_QUOTA,
    metrics: toMetrics.length === 0 ? PROBE_QUOTA : (quotas.at(-1) ?? PROBE_QUOTA),
    warning,
  }
}

function quotaOf({ maxConnections: max, maxConnectionsPerAddress }: ConnectionsConfig): ConnectionQuota {
  return {
    max,
    maxPerAddress: maxConnectionsPerAddress ?? Math.max(1, Math.floor(max * SHARE_OF_ONE_ADDRESS)),
  }
}
