import type { Statement } from 'better-sqlite3'
import {
  SENT_COPY,
  SENT_JOINED,
  SENT_SYNTHETIC,
  SENT_UNDRIVEN,
} from '../../../model/ports/linking/decisions.ts'
import type { LinkedSpan, CrossTraceSpan } from '../../../model/ports/query-port.ts'
import { readOwnSpan } from '../../../otlp/read/read-own-span.ts'
import type { Sqlite } from '../../open-database.ts'
import { ScopeFacts } from '../../linking/scope-facts.ts'
import { RECEIVED_COLUMNS, RECEIVED_JOINED, receivedSpan, type ReceivedColumns } from './received-span.ts'
import { SpansBeingPlaced } from './spans-being-placed.ts'

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

/** The end of a cause in another trace of the cascade; null for a local parent there. */
const CAUSE_END = `CASE WHEN outbox.cause_trace IS NOT NULL AND spans.id IS NOT NULL
  THEN (SELECT cause_span.end_ns FROM spans cause_span
    WHERE cause_span.id = outbox.cause AND cause_span.origin <> spans.origin) END`
const COLUMNS = `outbox.decision, outbox.parent_id, outbox.flags, outbox.scope,
  CASE WHEN outbox.flags & ${SENT_SYNTHETIC} THEN outbox.extra END,
  outbox.cause, outbox.cause_trace, ${CAUSE_END}, spans.id, ${RECEIVED_COLUMNS}`
const JOINED = `LEFT JOIN spans ON spans.id = outbox.span ${RECEIVED_JOINED}`
const NONE: readonly string[] = []

/** Reads the spans of a trace as they were sent: what was decided about each, with the span it is about. Those being placed are among them. */
export class LinkedSpans {
  readonly #scopes: ScopeFacts
  readonly #beingPlaced: SpansBeingPlaced
  readonly #ofTrace: Statement<[number], SentRow>
  readonly #ofDecisions: Statement<[string], SentRow>

  constructor(db: Sqlite) {
    this.#scopes = new ScopeFacts(db)
    this.#beingPlaced = new SpansBeingPlaced(db, this.#scopes)
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
    // Read first: one that is placed meanwhile is then in both.
    const beingPlaced = this.#beingPlaced.of(trace)
    const sent = this.#spansOf(this.#ofTrace.iterate(trace))
    sent.sort((a, b) => a.decision - b.decision)
    if (beingPlaced.length === 0) return sent
    const placed = new Set(sent.map(({ row }) => row))
    return [...sent, ...beingPlaced.filter(({ row }) => !placed.has(row))]
  }

  ofDecisions(decisions: readonly number[]): LinkedSpan[] {
    const sent = this.#spansOf(this.#ofDecisions.iterate(JSON.stringify(decisions)))
    const beingPlaced = this.#beingPlaced.ofRows(decisions.flatMap((at) => (at < 0 ? -at : [])))
    const all = [...sent, ...beingPlaced]
    const spans = new Map(all.map((span) => [span.decision, span]))
    return decisions.flatMap((decision) => spans.get(decision) ?? [])
  }

  /** The rows of those that `of` tells of as being placed. */
  beingPlacedIn(trace: number): number[] {
    return this.#beingPlaced.rowsIn(trace)
  }

  /** Row by row: some come with all bytes of a span. */
  #spansOf(rows: Iterable<SentRow>): LinkedSpan[] {
    const spans: LinkedSpan[] = []
    for (const row of rows) spans.push(...this.#spanOf(row))
    return spans
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
