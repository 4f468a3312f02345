import type { Metrics } from '../platform/metrics.ts'
import type { FromStore, StoreGauges } from './store-messages.ts'

const MS_PER_SECOND = 1000

/** Counts what a commit stored. */
export function countIngested(
  metrics: Metrics,
  { counts, commitMs }: Extract<FromStore, { kind: 'ingested' }>,
): void {
  if (commitMs !== undefined) {
    metrics.add('cpid_commits', 1)
    metrics.observe('cpid_commit_duration', commitMs / MS_PER_SECOND)
  }
  metrics.add('cpid_mergelogs', counts.mergelogs)
  metrics.add('cpid_merges', counts.merges)
  metrics.add('cpid_mergelogs_repeated', counts.repeatedMergelogs)
  metrics.add('cpid_requests_repeated', counts.repeatedRequests)
  metrics.add('cpid_malformed_cpids', counts.malformedCpids)
  metrics.add('cpid_forbidden_items', counts.forbiddenSpans, { item: 'span' })
  metrics.add('cpid_forbidden_items', counts.forbiddenLogs, { item: 'log_record' })
  metrics.add('cpid_forbidden_items', counts.forbiddenPoints, { item: 'metric_point' })
  metrics.add('cpid_pod_points_left_out', counts.podPointsLeftOut)
  metrics.add('cpid_filter_spans_dropped', counts.filterSpans)
  for (const [reason, count] of Object.entries(counts.refusedMergelogs))
    metrics.add('cpid_mergelogs_refused', count, { reason })
}

/** Counts the outcomes of writes in observed clusters. */
export function countInferred(
  metrics: Metrics,
  { decided, waiting }: Extract<FromStore, { kind: 'inferred' }>,
): void {
  for (const { cluster, operator, self, exact, inferred, unchanged, gaps, events, unmatched } of decided) {
    for (const [cause, count] of Object.entries({ operator, self, exact, inferred }))
      metrics.add('cpid_inferred_writes', count, { cluster, cause })
    metrics.add('cpid_inference_unchanged', unchanged, { cluster })
    metrics.add('cpid_inference_gaps', gaps, { cluster })
    metrics.add('cpid_inference_unmatched_admissions', unmatched, { cluster })
    metrics.add('cpid_inferred_events', events, { cluster })
  }
  metrics.set('cpid_inference_waiting', waiting)
}

/** Counts what a round of linking did. */
export function countLinked(
  metrics: Metrics,
  { counts, figures }: Extract<FromStore, { kind: 'linked' }>,
): void {
  metrics.traced('cpid_cascade_duration').merge(figures.durations)
  metrics.traced('cpid_hop_latency').merge(figures.hops)
  metrics.add('cpid_unattributed_spans', counts.unattributed)
  metrics.add('cpid_unattributed_log_records', counts.unattributedLogs)
  metrics.add('cpid_late_mergelogs', counts.lateMergelogs)
  metrics.add('cpid_late_parents', counts.lateParents)
  metrics.add('cpid_duplicate_spans', counts.duplicateSpans)
  metrics.add('cpid_duplicate_log_records', counts.duplicateLogs)
  metrics.add('cpid_cut_roots', counts.cutRoots)
  metrics.add('cpid_left_out_spans', counts.leftOut)
  metrics.add('cpid_beyond_share_spans', counts.beyondShare)
  metrics.add('cpid_own_id_spans', counts.ownIds)
  metrics.add('cpid_traces_settled', counts.settled)
  metrics.add('cpid_episodes', counts.episodes)
}

export function setStoreGauges(metrics: Metrics, gauges: StoreGauges): void {
  metrics.set('cpid_link_lag', gauges.lag)
  metrics.set('cpid_waiting', gauges.waiting)
  metrics.set('cpid_traces_open', gauges.openTraces)
  metrics.set('cpid_graph_cpids', gauges.cpids)
  metrics.set('cpid_graph_held_cpids', gauges.held)
  metrics.set('cpid_graph_tombstones', gauges.tombstones)
  metrics.set('cpid_storage_used_bytes', gauges.usedBytes)
  metrics.set('cpid_storage_wal_bytes', gauges.walBytes)
  metrics.set('cpid_storage_free_bytes', gauges.freeBytes)
}
