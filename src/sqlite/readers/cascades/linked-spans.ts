import type { Statement } from 'better-sqlite3'
import { SPAN_OBSERVED, SPAN_SEEN_WRITE, SPAN_WROTE } from '../../../model/arrivals.ts'
import { cpidOfBytes } from '../../../model/cpid.ts'
import {
  SENT_COPY,
  SENT_JOINED,
  SENT_SYNTHETIC,
  SENT_UNDRIVEN,
} from '../../../model/ports/linking/decisions.ts'
import type { LinkedSpan, SpanElsewhere } from '../../../model/ports/query-port.ts'
import { namedObjects } from '../../../otlp/read/named-objects.ts'
import { readOwnSpan } from '../../../otlp/read/read-own-span.ts'
import type { Sqlite } from '../../open-database.ts'
import { seenWriteOf, type SeenColumns } from '../seen-write-row.ts'
import { ScopeFacts } from '../../linking/scope-facts.ts'

type SentRow = [
  decision: bigint,
  parentId: bigint,
  flags: bigint,
  ownScope: bigint | null,
  extra: Buffer | null,
  cause: bigint | null,
  causeTrace: bigint | null,
  causeEnd: bigint | null,
  id: bigint | null,
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

/** The end of a cause in another trace of the cascade; null for a local parent there. */
const CAUSE_END = `CASE WHEN outbox.cause_trace IS NOT NULL AND spans.id IS NOT NULL
  THEN (SELECT cause_span.end_ns FROM spans cause_span
    WHERE cause_span.id = outbox.cause AND cause_span.origin <> spans.origin) END`
const COLUMNS = `outbox.decision, outbox.parent_id, outbox.flags, outbox.scope,
  CASE WHEN outbox.flags & ${SENT_SYNTHETIC} THEN outbox.extra END,
  outbox.cause, outbox.cause_trace, ${CAUSE_END}, spans.id, spans.span_id, spans.start_ns, spans.end_ns,
  spans.scope, spans.name, spans.kind, spans.status, cpids.uuid,
  CASE WHEN spans.flags & ${SPAN_OBSERVED | SPAN_WROTE} THEN spans.raw END,
  seen_writes.user_name, seen_writes.cause, seen_writes.gap`
const JOINED = `LEFT JOIN spans ON spans.id = outbox.span LEFT JOIN cpids ON cpids.id = spans.cpid
  LEFT JOIN seen_writes ON spans.flags & ${SPAN_SEEN_WRITE} AND seen_writes.span = spans.id`
const NONE: readonly string[] = []

/** Reads the spans of a trace as they were sent: what was decided about each, with the span it is about. */
export class LinkedSpans {
  readonly #scopes: ScopeFacts
  readonly #ofTrace: Statement<[number], SentRow>
  readonly #ofDecisions: Statement<[string], SentRow>

  constructor(db: Sqlite) {
    this.#scopes = new ScopeFacts(db)
    this.#ofTrace = db
      .prepare<[number], SentRow>(`SELECT ${COLUMNS} FROM outbox ${JOINED} WHERE outbox.trace = ?`)
      .raw()
      .safeIntegers()
    this.#ofDecisions = db
      .prepare<[string], SentRow>(
        `SELECT ${COLUMNS} FROM json_each(?) wanted CROSS JOIN outbox ON outbox.decision = wanted.value ${JOINED}`,
      )
      .raw()
      .safeIntegers()
  }

  of(trace: number): LinkedSpan[] {
    const spans = this.#ofTrace.all(trace).flatMap((row) => this.#spanOf(row))
    return spans.sort((a, b) => a.decision - b.decision)
  }

  ofDecisions(decisions: readonly number[]): LinkedSpan[] {
    const rows = this.#ofDecisions.all(JSON.stringify(decisions))
    const spans = new Map(rows.flatMap((row) => this.#spanOf(row)).map((span) => [span.decision, span]))
    return decisions.flatMap((decision) => spans.get(decision) ?? [])
  }

  /** None for a span that was pruned. */
  #spanOf(row: SentRow): LinkedSpan[] {
    const [decision, parentId, flags, ownScope, extra, cause, causeTrace, causeEnd, id] = row
    const sent = {
      decision: Number(decision),
      parentId,
      copy: (Number(flags) & SENT_COPY) !== 0,
      activity: (Number(flags) & SENT_UNDRIVEN) === 0,
      byCause:
        extra === null &&
        (Number(flags) & SENT_JOINED) === 0 &&
        cause !== null &&
        (causeTrace === null || causeEnd !== null),
      ...(cause !== null &&
        causeTrace !== null && { above: elsewhere(causeTrace, cause, extra === null, causeEnd) }),
    }
    if (extra !== null) {
      const own = readOwnSpan(extra)
      const service = this.#scopes.of(Number(ownScope ?? 0n)).service
      // What stands for a moment is sent a nanosecond long, because Jaeger warns of less; it took no time.
      const endNs = own.endNs === own.startNs + 1n ? own.startNs : own.endNs
      return [{ ...sent, ...own, endNs, service, status: 0, row: undefined, observed: NONE, wrote: NONE }]
    }
    if (id === null) return []
    const [, , , , , , , , , spanId, startNs, endNs, scope, name, kind, status, uuid, raw, ...told] = row
    const seen = seenWriteOf(...told)
    return [
      {
        ...sent,
        spanId,
        name,
        service: this.#scopes.of(Number(scope)).service,
        startNs,
        endNs,
        cpid: uuid === null ? undefined : cpidOfBytes(uuid),
        kind: Number(kind),
        status: Number(status),
        row: Number(id),
        ...(raw === null ? { observed: NONE, wrote: NONE } : namedObjects(raw)),
        ...(seen && { seen }),
      },
    ]
  }
}

function elsewhere(trace: bigint, above: bigint, received: boolean, endNs: bigint | null): SpanElsewhere {
  return {
    trace: Number(trace),
    ...(received ? { row: Number(above) } : { spanId: above }),
    ...(endNs !== null && { endNs }),
  }
}
