/** What one round of linking did, for the metrics. */
export interface LinkCounts {
  sent: number
  unattributed: number
  lateMergelogs: number
  lateParents: number
  duplicateSpans: number
  cutRoots: number
  settled: number
  episodes: number
}

export const noLinkCounts = (): LinkCounts => ({
  sent: 0,
  unattributed: 0,
  lateMergelogs: 0,
  lateParents: 0,
  duplicateSpans: 0,
  cutRoots: 0,
  settled: 0,
  episodes: 0,
})
