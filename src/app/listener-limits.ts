import type { CausewayConfig, ConnectionsConfig } from '../config/causeway-config.ts'
import { type ConnectionQuota, fitQuotas } from '../platform/open-files.ts'

/** How many may be connected to each listener. */
export interface ListenerLimits {
  /** To each port of a receiver. */
  receivers: ConnectionQuota
  /** To the listener of an extension, by its path. */
  extension: (path: string) => ConnectionQuota
  metrics: ConnectionQuota
  /** What to change where the process may have too few files open. */
  warning: string | undefined
}

/** Of all connections one address may have so many, where nothing else is configured. */
const SHARE_OF_ONE_ADDRESS = 0.25
/** Prometheus and a kubelet need one or two. */
const PROBED: ConnectionQuota = { max: 64, maxPerAddress: 32 }

/** How many there may be where the process may have so many files open. */
export function listenerLimits(
  { receivers, extensions, telemetry, cpid }: CausewayConfig,
  openFiles: number | undefined,
): ListenerLimits {
  const toReceivers = receivers.flatMap(({ listeners }) => listeners).map(() => placesOf(cpid.admission))
  const asked = extensions.flatMap(({ listeners }) => listeners)
  const toAsked = asked.map(({ connections }) => (connections === undefined ? PROBED : placesOf(connections)))
  const toMetrics = telemetry.metrics === undefined ? [] : [PROBED]
  const { places, warning } = fitQuotas([...toReceivers, ...toAsked, ...toMetrics], openFiles)
  const fitted = new Map(asked.map(({ path }, at) => [path, places[toReceivers.length + at]]))
  return {
    receivers: toReceivers.length === 0 ? placesOf(cpid.admission) : (places[0] ?? PROBED),
    extension: (path) => fitted.get(path) ?? PROBED,
    metrics: toMetrics.length === 0 ? PROBED : (places.at(-1) ?? PROBED),
    warning,
  }
}

function placesOf({ maxConnections: max, maxConnectionsPerAddress }: ConnectionsConfig): ConnectionQuota {
  return {
    max,
    maxPerAddress: maxConnectionsPerAddress ?? Math.max(1, Math.floor(max * SHARE_OF_ONE_ADDRESS)),
  }
}
