import type { ClusterObserver } from '../../receiver/clusters/cluster-observer.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

/** Counts what receivers see of clusters. */
export function clusterReports(metrics: Metrics): ClusterObserver {
  return {
    told: (receiver, observations) => metrics.add('cpid_observations', observations, { receiver }),
    skipped: (receiver, reason, count) =>
      metrics.add('cpid_observations_skipped', count, { receiver, reason }),
    relisted: (receiver) => metrics.add('cpid_relists', 1, { receiver }),
    watched: (receiver) => metrics.add('cpid_watches', 1, { receiver }),
    refused: (receiver, resources) => metrics.set('cpid_refused_resources', resources, { receiver }),
  }
}
