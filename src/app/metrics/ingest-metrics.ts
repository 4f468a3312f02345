import type { Metrics } from '../../telemetry/metrics.ts'
import type { FromStore } from '../../threads/thread-messages.ts'

const MS_PER_SECOND = 1000

/** Adds what a commit stored. */
export function addIngestCounts(
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
  metrics.add('cpid_filter_spans_dropped', counts.filterSpans)
  for (const [reason, count] of Object.entries(counts.refusedMergelogs))
    metrics.add('cpid_mergelogs_refused', count, { reason })
}
