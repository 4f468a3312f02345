import type { LinkCounts } from '../../model/link-counts.ts'
import type { Metrics } from '../../telemetry/metrics.ts'

/** Counts what a round of linking did. */
export function addLinkCounts(metrics: Metrics, counts: LinkCounts): void {
  metrics.add('cpid_unattributed_spans', counts.unattributed)
  metrics.add('cpid_unattributed_log_records', counts.unattributedLogs)
  metrics.add('cpid_late_mergelogs', counts.lateMergelogs)
  metrics.add('cpid_late_parents', counts.lateParents)
  metrics.add('cpid_duplicate_spans', counts.duplicateSpans)
  metrics.add('cpid_duplicate_log_records', counts.duplicateLogs)
  metrics.add('cpid_cut_roots', counts.cutRoots)
  metrics.add('cpid_left_out_spans', counts.leftOut)
  metrics.add('cpid_beyond_share_spans', counts.beyondShare)
  metrics.add('cpid_traces_settled', counts.settled)
  metrics.add('cpid_episodes', counts.episodes)
}
