/** What became of writes and Events of one observed cluster, for the metrics. */
export interface InferenceCounts {
  readonly cluster: string
  /** Writes that were decided, by cause. */
  operator: number
  exact: number
  inferred: number
  /** Known already, or only a sign of life. */
  unchanged: number
  /** Decided, with versions before that nobody saw. */
  gaps: number
  events: number
  /** Requests that admission told of and that made no write. */
  unmatched: number
}

export function noInferenceCounts(cluster: string): InferenceCounts {
  return { cluster, operator: 0, exact: 0, inferred: 0, unchanged: 0, gaps: 0, events: 0, unmatched: 0 }
}
