import type { Statement } from 'better-sqlite3'
import type { LinkedSpan } from '../../../model/ports/query-port.ts'
import type { ScopeFacts } from '../../linking/scope-facts.ts'
import { SPAN_REPEATED } from '../../linking/sent-once.ts'
import type { Sqlite } from '../../open-database.ts'
import { CPID_ABOVE } from '../cpid-above.ts'
import { RECEIVED_COLUMNS, RECEIVED_JOINED, receivedSpan, type ReceivedColumns } from './received-span.ts'

/** As many as are shown of one trace. */
const MOST = 10_000

/** A change that waits is no span. */
const IS_SPAN = 'waiting.kind <> 1'

/** No later trace of the same root has the CPID of `change`. */
const IS_LAST = `NOT EXISTS (SELECT 1 FROM traces here JOIN traces later ON later.root = here.root AND later.episode > here.episode
      JOIN change_spans ON change_spans.cpid = change.cpid AND change_spans.trace = later.id WHERE here.id = @trace)`

/**
 * Spans that wait and belong into a trace: those that spans sent into it hang under, those of its CPIDs, unless a later trace of
 * the same root has the CPID, and those that wait for one of these. What the linker has not been through yet waits for that.
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
    WHERE progress.last_arrival > progress.linked_arrival AND coalesce(s.cpid, ${CPID_ABOVE}) = change.cpid
      AND NOT ${SPAN_REPEATED}
  UNION SELECT waiting.arrival FROM found CROSS JOIN spans ON spans.id = found.id
    CROSS JOIN waiting ON waiting.origin = spans.origin AND waiting.parent_id = spans.span_id AND ${IS_SPAN}
  LIMIT ${MOST})`

type PlacingRow = [
  id: bigint,
  changeId: bigint | null,
  parentRow: bigint | null,
  ...received: ReceivedColumns,
]

/** Below its local parent where that is in the cascade, else below the change of its CPID. */
const COLUMNS = `spans.id,
  (SELECT span_id FROM change_spans WHERE change_spans.cpid = spans.cpid AND change_spans.trace = @trace),
  CASE WHEN spans.parent_id <> 0 THEN (SELECT min(above.id) FROM spans above
    WHERE above.origin = spans.origin AND above.span_id = spans.parent_id) END, ${RECEIVED_COLUMNS}`

/** Reads spans that have arrived and wait for something before they are sent into a trace. */
export class SpansBeingPlaced {
  readonly #scopes: ScopeFacts
  readonly #any: Statement<[], number>
  readonly #rows: Statement<[{ trace: number }], number>
  readonly #ofTrace: Statement<[{ trace: number }], PlacingRow>
  readonly #ofRows: Statement<[{ trace: number; rows: string }], PlacingRow>

  constructor(db: Sqlite, scopes: ScopeFacts) {
    this.#scopes = scopes
    this.#any = db
      .prepare<[], number>(
        'SELECT 1 FROM progress WHERE last_arrival > linked_arrival OR EXISTS (SELECT 1 FROM waiting)',
      )
      .pluck()
    this.#rows = db.prepare<[{ trace: number }], number>(`${FOUND} SELECT id FROM found ORDER BY id`).pluck()
    this.#ofTrace = db
      .prepare<[{ trace: number }], PlacingRow>(
        `${FOUND} SELECT ${COLUMNS} FROM found CROSS JOIN spans ON spans.id = found.id ${RECEIVED_JOINED} ORDER BY spans.id`,
      )
      .raw()
      .safeIntegers()
    this.#ofRows = db
      .prepare<[{ trace: number; rows: string }], PlacingRow>(
        `SELECT ${COLUMNS} FROM json_each(@rows) wanted CROSS JOIN spans ON spans.id = wanted.value ${RECEIVED_JOINED}`,
      )
      .raw()
      .safeIntegers()
  }

  of(trace: number): LinkedSpan[] {
    if (this.#any.get() === undefined) return []
    return this.#ofTrace.all({ trace }).map((row) => this.#spanOf(row, trace))
  }

  /** Numbers of the spans in `of`. */
  rowsIn(trace: number): number[] {
    return this.#any.get() === undefined ? [] : this.#rows.all({ trace })
  }

  /** What is shown of spans by their numbers, without their places. */
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
