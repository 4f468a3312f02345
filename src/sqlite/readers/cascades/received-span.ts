import { SPAN_OBSERVED, SPAN_SEEN_WRITE, SPAN_WROTE } from '../../../model/arrivals.ts'
import { cpidOfBytes } from '../../../model/cpid.ts'
import type { LinkedSpan } from '../../../model/ports/query-port.ts'
import { namedObjects } from '../../../otlp/read/named-objects.ts'
import type { ScopeFacts } from '../../linking/scope-facts.ts'
import { seenWriteOf, type SeenColumns } from '../seen-write-row.ts'

/** What is shown of a row of `spans`, joined as by RECEIVED_JOINED. */
export const RECEIVED_COLUMNS = `spans.span_id, spans.start_ns, spans.end_ns, spans.scope, spans.name, spans.kind,
  spans.status, cpids.uuid, CASE WHEN spans.flags & ${SPAN_OBSERVED | SPAN_WROTE} THEN spans.raw END,
  seen_writes.user_name, seen_writes.cause, seen_writes.gap`
export const RECEIVED_JOINED = `LEFT JOIN cpids ON cpids.id = spans.cpid
  LEFT JOIN seen_writes ON spans.flags & ${SPAN_SEEN_WRITE} AND seen_writes.span = spans.id`

export type ReceivedColumns = [
  spanId: bigint,
  startNs: bigint,
  endNs: bigint,
  scope: bigint,
  name: string,
  kind: bigint,
  status: bigint,
  uuid: Buffer | null,
  raw: Buffer | null,
  ...seen: SeenColumns,
]

/** A received span without what was decided about it. */
export function receivedSpan(
  row: number,
  [spanId, startNs, endNs, scope, name, kind, status, uuid, raw, ...told]: ReceivedColumns,
  scopes: ScopeFacts,
): Omit<LinkedSpan, 'decision' | 'parentId' | 'copy' | 'activity' | 'byCause'> {
  const seen = seenWriteOf(...told)
  const { service, cluster } = scopes.of(Number(scope))
  return {
    spanId,
    name,
    service,
    ...(cluster !== '' && { cluster }),
    startNs,
    endNs,
    cpid: uuid === null ? undefined : cpidOfBytes(uuid),
    kind: Number(kind),
    status: Number(status),
    row,
    ...(raw === null ? { observed: NONE, wrote: NONE } : namedObjects(raw)),
    ...(seen && { seen }),
  }
}

const NONE: readonly string[] = []
