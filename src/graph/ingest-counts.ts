import type { IngestCounts } from '../model/ports/arrival-port.ts'
import type { MergelogRefusal } from '../model/ports/graph-port.ts'

export function noCounts(): IngestCounts {
  return {
    spans: 0,
    logs: 0,
    mergelogs: 0,
    merges: 0,
    repeatedMergelogs: 0,
    refusedMergelogs: {},
    malformedCpids: 0,
    forbiddenSpans: 0,
    forbiddenLogs: 0,
    filterSpans: 0,
    repeatedRequests: 0,
  }
}

/** Adds counts to others. */
export function addCounts(to: IngestCounts, { refusedMergelogs, ...counts }: IngestCounts): void {
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) to[name] += counts[name]
  for (const [reason, count] of Object.entries(refusedMergelogs)) {
    const known = reason as MergelogRefusal
    to.refusedMergelogs[known] = (to.refusedMergelogs[known] ?? 0) + count
  }
}
