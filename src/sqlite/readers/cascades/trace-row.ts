import type { TraceFacts } from '../../../model/ports/query-port.ts'

export const TRACE_COLUMNS = `id, trace_id, episode, state, first_ns, last_ns, last_decision, sent_spans,
  coalesce(continues, id) AS cascade`

export interface TraceRow {
  id: bigint
  trace_id: Buffer
  episode: bigint
  state: bigint
  first_ns: bigint
  last_ns: bigint
  last_decision: bigint
  sent_spans: bigint
  cascade: bigint
}

export function traceFactsOf(row: TraceRow): TraceFacts {
  return {
    id: Number(row.id),
    traceId: row.trace_id,
    episode: Number(row.episode),
    cascade: Number(row.cascade),
    spans: Number(row.sent_spans),
    open: row.state === 0n,
    startNs: row.first_ns,
    lastNs: row.last_ns,
    lastDecision: Number(row.last_decision),
  }
}
