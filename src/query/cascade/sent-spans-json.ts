import type { OutboxItem } from '../../model/ports/outbox-port.ts'
import type { CausewayQueries, Pages, StoredRecord } from '../../model/ports/query-port.ts'
import { sentSpan } from '../../otlp/write/outgoing-span.ts'

/** Sent spans as records to be shown, each exactly as it was sent; those pruned since are left out. */
export function* sentRecords(pages: Pages<OutboxItem>): Generator<StoredRecord[]> {
  for (const page of pages) yield page.flatMap(recordOf)
}

function recordOf(item: OutboxItem): StoredRecord[] {
  const raw = sentSpan(item)
  return raw === undefined ? [] : [{ position: [BigInt(item.decision)], scope: item.scope, raw }]
}

/** The span with this id in the traces of a cascade, or in one of them; undefined when it is not there. */
export function findSentSpan(
  queries: CausewayQueries,
  {
    root,
    spanId,
    traceId,
  }: { root: Parameters<CausewayQueries['tracesOf']>[0]; spanId: string; traceId?: string },
): readonly StoredRecord[] | undefined {
  const id = Buffer.from(spanId, 'hex').readBigInt64BE(0)
  for (const trace of queries.tracesOf(root)) {
    if (traceId !== undefined && trace.traceId.toString('hex') !== traceId) continue
    const records = queries.sentSpans(trace.id, id).flatMap(recordOf)
    if (records.length > 0) return records
  }
  return undefined
}
