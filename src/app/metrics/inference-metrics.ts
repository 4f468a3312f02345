import type { Metrics } from '../../telemetry/metrics.ts'
import type { FromStore } from '../../threads/thread-messages.ts'

/** Adds what became of writes of observed clusters. */
export function addInferenceCounts(
  metrics: Metrics,
  { decided, waiting }: Extract<FromStore, { kind: 'inferred' }>,
): void {
  for (const { cluster, operator, exact, inferred, unchanged, gaps, events, unmatched } of decided) {
    for (const [cause, count] of Object.entries({ operator, exact, inferred }))
      metrics.add('cpid_inferred_writes', count, { cluster, cause })
    metrics.add('cpid_inference_unchanged', unchanged, { cluster })
    metrics.add('cpid_inference_gaps', gaps, { cluster })
    metrics.add('cpid_inference_unmatched_admissions', unmatched, { cluster })
    metrics.add('cpid_inferred_events', events, { cluster })
  }
  metrics.set('cpid_inference_waiting', waiting)
}
