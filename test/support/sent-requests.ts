import { outgoingSpans } from '../../src/exporter/drain.ts'
import { buildRequest, type ReadyItem } from '../../src/model/otlp/outgoing-records.ts'
import type { Sqlite } from '../../src/store/sqlite/open-database.ts'
import { SqliteOutbox } from '../../src/store/sqlite/outbox.ts'
import { bytesPerTrace } from './tempo-count.ts'

const ALL = 1_000_000

/** The requests that send everything the outbox holds, with at most so many spans each. */
export function sentRequests(db: Sqlite, mostSpans: number): Buffer[] {
  const outbox = outgoingSpans(new SqliteOutbox(db))
  const items = outbox
    .after(0, ALL)
    .flatMap(({ scope, bytes }): ReadyItem[] => (bytes === undefined ? [] : [{ scope, bytes }]))
  const requests: Buffer[] = []
  for (let at = 0; at < items.length; at += mostSpans) {
    requests.push(buildRequest(items.slice(at, at + mostSpans), outbox))
  }
  return requests
}

/** What Tempo adds up for each trace when it is sent all of the outbox in such requests. */
export function countedByTempo(db: Sqlite, mostSpans: number): Map<string, number> {
  const traces = new Map<string, number>()
  for (const request of sentRequests(db, mostSpans)) {
    for (const [traceId, bytes] of bytesPerTrace(request)) {
      traces.set(traceId, (traces.get(traceId) ?? 0) + bytes)
    }
  }
  return traces
}
