import type { ClusterObserver } from '../../receiver/clusters/cluster-observer.ts'
import type { SourceObserver } from '../../receiver/clusters/source-observer.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

/** Counts what receivers see of clusters; what cannot be read is told to the operator as well. */
export function clusterReports(
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
