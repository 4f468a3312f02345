/** What one round of linking did, for the metrics. */
export interface LinkCounts {
  sent: number
  unattributed: number
  lateMergelogs: number
  lateParents: number
  duplicateSpans: number
  duplicateLogs: number
  cutRoots: number
  /** Late parents and back links for which their trace had no room. */
  leftOut: number
  /** Spans of other clusters for which the traces of their change had no room left. */
  beyondShare: number
  settled: number
  episodes: number
  /** Log records sent on, and those of them without a CPID. */
  logs: number
  unattributedLogs: number
}

export const noLinkCounts = (): LinkCounts => ({
  sent: 0,
  unattributed: 0,
  lateMergelogs: 0,
  lateParents: 0,
  duplicateSpans: 0,
  duplicateLogs: 0,
  cutRoots: 0,
  leftOut: 0,
  beyondShare: 0,
  settled: 0,
  episodes: 0,
  logs: 0,
  unattributedLogs: 0,
})
