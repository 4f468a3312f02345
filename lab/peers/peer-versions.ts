const KUBERNETES = 'v1.36.3'

/**
 * Names the released programs that the interop tests run Causeway against, and that the bench runs beside it.
 *
 * telemetrygen is one release after the Collector: not every module proxy serves its v0.159.0. It only sends
 * OTLP, so the two need not match.
 */
export const peerVersions = {
  telemetrygen: 'v0.160.0',
  collector: 'v0.159.0',
  jaeger: 'v1.76.0',
  // Prometheus 3.13.
  promtool: 'v0.313.5',
  etcd: 'v3.6.8',
  'kube-apiserver': KUBERNETES,
  'kube-controller-manager': KUBERNETES,
  'kube-scheduler': KUBERNETES,
  kubectl: KUBERNETES,
  kwok: 'v0.8.0',
  helm: 'v3.22.0',
  litestream: 'v0.5.18',
} as const

/** What a cluster is made of. */
export const CLUSTER_PEERS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
  'kwok',
] as const satisfies readonly PeerName[]

export type PeerName = keyof typeof peerVersions

/** The Collector's modules that have reached 1.x are released beside the others, under a number of their own. */
export const collectorStableVersion = 'v1.65.0'

/** Two releases before the Collector: not every module proxy serves the newer ones. */
export const collectorRoutingVersion = 'v0.157.0'

/** The oldest Go release that builds all of them. */
export const oldestGo = '1.26'
