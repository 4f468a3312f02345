import { SPAN_OBSERVED, SPAN_SEEN_WRITE, SPAN_WROTE } from '../../model/arrivals.ts'
import { cpidOfBytes } from '../../model/merge-graph.ts'
import { namedObjects, readOwnSpan } from '../../model/otlp/read-stored-span.ts'
import { SENT_COPY, SENT_JOINED, SENT_SYNTHETIC, SENT_UNDRIVEN } from '../../model/outbox.ts'
import type { CrossTraceSpan, LinkedSpan } from '../../model/queries.ts'
import type { InferredWrite, WriteCause } from '../../model/seen-write.ts'
import { OnConnection, type Sqlite } from './open-database.ts'
import { CPID_OF_NEAREST_ANCESTOR } from './record-queries.ts'
import { SPAN_IS_REPEAT } from './repeated-records.ts'
import { ScopeFacts } from './scopes.ts'

/** The columns of a received span, joined by RECEIVED_JOINED. */
const RECEIVED_COLUMNS = `spans.span_id, spans.start_ns, spans.end_ns, spans.scope, spans.name, spans.kind,
  spans.status, cpids.uuid, CASE WHEN spans.flags & ${SPAN_OBSERVED | SPAN_WROTE} THEN spans.raw END,
  seen_writes.user_name, seen_writes.cause, seen_writes.gap, seen_writes.missed`
const RECEIVED_JOINED = `LEFT JOIN cpids ON cpids.id = spans.cpid
  LEFT JOIN seen_writes ON spans.flags & ${SPAN_SEEN_WRITE} AND seen_writes.span = spans.id`

type ReceivedColumns = [
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

/** A received span, without what was decided about it. */
function receivedSpan(
  row: number,
  [spanId, startNs, endNs, scope, name, kind, status, uuid, raw, ...inferred]: ReceivedColumns,
  scopes: ScopeFacts,
): Omit<LinkedSpan, 'decision' | 'parentId' | 'copy' | 'activity' | 'byCause'> {
  const seen = inferredWriteOf(...inferred)
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
    ...(raw === null ? { observed: NO_OBJECTS, wrote: NO_OBJECTS } : namedObjects(raw)),
    ...(seen && { seen }),
  }
}

const NO_OBJECTS: readonly string[] = []

/** The columns user_name, cause, gap and missed of `seen_writes`, all null if there is no row. */
export type SeenColumns = [
  user: string | null,
  cause: string | null,
  gap: bigint | null,
  missed: bigint | null,
]

export function inferredWriteOf(...[user, cause, gap, missed]: SeenColumns): InferredWrite | undefined {
  if (cause === null) return undefined
  return {
    user: user ?? undefined,
    cause: cause as WriteCause,
    gap: gap === 1n,
    ...(missed !== null && missed > 0n && { missed: Number(missed) }),
  }
}

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
  ...received: ReceivedColumns,
]

/** When a cause in another trace of the cascade ended; null for a local parent there. */
const CAUSE_END = `CASE WHEN outbox.cause_trace IS NOT NULL AND spans.id IS NOT NULL
  THEN (SELECT cause_span.end_ns FROM spans cause_span
    WHERE cause_span.id = outbox.cause AND cause_span.origin <> spans.origin) END`
const SENT_COLUMNS = `outbox.decision, outbox.parent_id, outbox.flags, outbox.scope,
  CASE WHEN outbox.flags & ${SENT_SYNTHETIC} THEN outbox.extra END,
  outbox.cause, outbox.cause_trace, ${CAUSE_END}, spans.id, ${RECEIVED_COLUMNS}`
const JOINED = `LEFT JOIN spans ON spans.id = outbox.span ${RECEIVED_JOINED}`
const NONE: readonly string[] = []

/** Reads the spans sent into a trace, by decision, and those that are still being placed. */
export class LinkedSpans extends OnConnection {
  readonly #scopes: ScopeFacts
  readonly beingPlaced: SpansBeingPlaced
  readonly #ofTrace = this.exactRows<[number], SentRow>(
    `SELECT ${SENT_COLUMNS} FROM outbox ${JOINED} WHERE outbox.trace = ?`,
  ).raw()
  readonly #ofDecisions = this.exactRows<[string], SentRow>(
    `SELECT ${SENT_COLUMNS} FROM json_each(?) wanted CROSS JOIN outbox ON outbox.decision = wanted.value ${JOINED}`,
  ).raw()

  constructor(db: Sqlite) {
    super(db)
    this.#scopes = new ScopeFacts(db)
    this.beingPlaced = new SpansBeingPlaced(db, this.#scopes)
  }

  of(trace: number): LinkedSpan[] {
    // Read first, so that a span placed in between is in both results, not in none.
    const beingPlaced = this.beingPlaced.of(trace)
    const sent = this.#spansOf(this.#ofTrace.iterate(trace))
    sent.sort((a, b) => a.decision - b.decision)
    if (beingPlaced.length === 0) return sent
    const placed = new Set(sent.map(({ row }) => row))
    return [...sent, ...beingPlaced.filter(({ row }) => !placed.has(row))]
  }

  ofDecisions(decisions: readonly number[]): LinkedSpan[] {
    const sent = this.#spansOf(this.#ofDecisions.iterate(JSON.stringify(decisions)))
    const beingPlaced = this.beingPlaced.ofRows(decisions.flatMap((at) => (at < 0 ? -at : [])))
    const all = [...sent, ...beingPlaced]
    const spans = new Map(all.map((span) => [span.decision, span]))
    return decisions.flatMap((decision) => spans.get(decision) ?? [])
  }

  /** Iterates, since some rows include all bytes of a span. */
  #spansOf(rows: Iterable<SentRow>): LinkedSpan[] {
    const spans: LinkedSpan[] = []
    for (const row of rows) spans.push(...this.#spanOf(row))
    return spans
  }

  /** Empty if the span was pruned. */
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
      // A span without a duration is sent with 1 ns, because Jaeger warns of zero.
      const endNs = own.endNs === own.startNs + 1n ? own.startNs : own.endNs
      return [{ ...sent, ...own, endNs, service, status: 0, row: undefined, observed: NONE, wrote: NONE }]
    }
    if (id === null) return []
    const [, , , , , , , , , ...received] = row
    return [{ ...sent, ...receivedSpan(Number(id), received, this.#scopes) }]
  }
}

function elsewhere(trace: bigint, above: bigint, received: boolean, endNs: bigint | null): CrossTraceSpan {
  return {
    trace: Number(trace),
    ...(received ? { row: Number(above) } : { spanId: above }),
    ...(endNs !== null && { endNs }),
  }
}

/** The most spans shown of one trace. */
const MOST = 10_000

/** A waiting change is not a span. */
const IS_SPAN = 'waiting.kind <> 1'

/** No later trace of the same root has the CPID of `change`. */
const IS_LAST = `NOT EXISTS (SELECT 1 FROM traces here JOIN traces later ON later.root = here.root AND later.episode > here.episode
      JOIN change_spans ON change_spans.cpid = change.cpid AND change_spans.trace = later.id WHERE here.id = @trace)`

/**
 * Waiting spans that will go into a trace: parents awaited by spans sent into it; spans of its CPIDs, unless a later trace of the same root
 * has the CPID; and spans that wait for one of these. Spans that the linker has not reached yet are left out.
 */
const FOUND = `WITH RECURSIVE found(id) AS (
  SELECT waiting.arrival FROM awaited_parents awaited
    CROSS JOIN spans ON spans.origin = awaited.origin AND spans.span_id = awaited.span_id
    CROSS JOIN waiting ON waiting.arrival = spans.id AND ${IS_SPAN} WHERE awaited.trace = @trace
  UNION SELECT waiting.arrival FROM change_spans change
    CROSS JOIN waiting ON waiting.cpid = change.cpid AND ${IS_SPAN} WHERE change.trace = @trace AND ${IS_LAST}
  UNION SELECT s.id FROM progress
    CROSS JOIN change_spans change ON change.trace = @trace AND ${IS_LAST}
    CROSS JOIN cpid_origins ON cpid_origins.cpid = change.cpid
    CROSS JOIN spans s ON s.origin = cpid_origins.origin AND s.id > progress.linked_arrival
    WHERE progress.last_arrival > progress.linked_arrival AND coalesce(s.cpid, ${CPID_OF_NEAREST_ANCESTOR}) = change.cpid
      AND NOT ${SPAN_IS_REPEAT}
  UNION SELECT waiting.arrival FROM found CROSS JOIN spans ON spans.id = found.id
    CROSS JOIN waiting ON waiting.origin = spans.origin AND waiting.parent_id = spans.span_id AND ${IS_SPAN}
  LIMIT ${MOST})`

type PlacingRow = [
  id: bigint,
  changeId: bigint | null,
  parentRow: bigint | null,
  ...received: ReceivedColumns,
]

/** The parent: the local one if it is in the cascade, otherwise the change span of the CPID. */
const PLACED_COLUMNS = `spans.id,
  (SELECT span_id FROM change_spans WHERE change_spans.cpid = spans.cpid AND change_spans.trace = @trace),
  CASE WHEN spans.parent_id <> 0 THEN (SELECT min(above.id) FROM spans above
    WHERE above.origin = spans.origin AND above.span_id = spans.parent_id) END, ${RECEIVED_COLUMNS}`

/** Reads spans that arrived and still wait before they are sent into a trace. */
class SpansBeingPlaced extends OnConnection {
  readonly #scopes: ScopeFacts
  readonly #any = this.column<[], number>(
    'SELECT 1 FROM progress WHERE last_arrival > linked_arrival OR EXISTS (SELECT 1 FROM waiting)',
  )
  readonly #rows = this.column<[{ trace: number }], number>(`${FOUND} SELECT id FROM found ORDER BY id`)
  readonly #ofTrace = this.exactRows<[{ trace: number }], PlacingRow>(
    `${FOUND} SELECT ${PLACED_COLUMNS} FROM found CROSS JOIN spans ON spans.id = found.id ${RECEIVED_JOINED} ORDER BY spans.id`,
  ).raw()
  readonly #ofRows = this.exactRows<[{ trace: number; rows: string }], PlacingRow>(
    `SELECT ${PLACED_COLUMNS} FROM json_each(@rows) wanted CROSS JOIN spans ON spans.id = wanted.value ${RECEIVED_JOINED}`,
  ).raw()

  constructor(db: Sqlite, scopes: ScopeFacts) {
    super(db)
    this.#scopes = scopes
  }

  of(trace: number): LinkedSpan[] {
    if (this.#any.get() === undefined) return []
    return this.#ofTrace.all({ trace }).map((row) => this.#spanOf(row, trace))
  }

  /** The rows of the spans in `of`. */
  rowsIn(trace: number): number[] {
    return this.#any.get() === undefined ? [] : this.#rows.all({ trace })
  }

  /** The spans with these rows, without their positions. */
  ofRows(rows: readonly number[]): LinkedSpan[] {
    if (rows.length === 0) return []
    return this.#ofRows.all({ trace: 0, rows: JSON.stringify(rows) }).map((row) => this.#spanOf(row, 0))
  }

  #spanOf([id, changeId, parentRow, ...received]: PlacingRow, trace: number): LinkedSpan {
    return {
      ...receivedSpan(Number(id), received, this.#scopes),
      decision: -Number(id),
      parentId: changeId ?? 0n,
      copy: false,
      activity: true,
      byCause: false,
      beingPlaced: true,
      ...(parentRow !== null && { above: { trace, row: Number(parentRow) } }),
    }
  }
}
