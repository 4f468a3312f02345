import type { Statement } from 'better-sqlite3'
import {
  SENT_FOR_CHILD,
  SENT_SYNTHETIC,
  SENT_UNDRIVEN,
  type Decisions,
  type Placed,
  type SpanDecision,
  type SyntheticDecision,
} from '../../model/ports/linking/decisions.ts'
import { GenerationCache } from '../generation-cache.ts'
import type { Sqlite } from '../open-database.ts'
import type { Progress } from '../progress.ts'

const SPANS = 30_000

/** Of a decision that sends a span into a trace whose root does not drive it. */
const NO_ACTIVITY = SENT_UNDRIVEN | SENT_FOR_CHILD

interface PlacedRow {
  parent_id: bigint
  cause: bigint | null
  cause_trace: bigint | null
}

/** Writes decisions, and remembers which spans went into which traces. */
export class DecisionTable implements Decisions {
  readonly #progress: Progress
  readonly #insert: Statement
  readonly #placed: Statement<[number, number], PlacedRow>
  readonly #sent: Statement<[number, number], number>
  readonly #traces: Statement<[{ span: number }], number>
  readonly #driven: Statement<[number], number>
  /** For spans first linked by this process: every trace they were sent into, below zero where they are no activity of it. */
  readonly #sentTo = new GenerationCache<number, number[]>(SPANS)

  constructor(db: Sqlite, progress: Progress) {
    this.#progress = progress
    this.#insert = db.prepare(
      `INSERT INTO outbox (decision, trace, span, parent_id, flags, scope, extra, cause, cause_trace)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#placed = db
      .prepare<[number, number], PlacedRow>(
        'SELECT parent_id, cause, cause_trace FROM outbox WHERE trace = ? AND span = ?',
      )
      .safeIntegers()
    this.#sent = db
      .prepare<[number, number], number>('SELECT 1 FROM outbox WHERE trace = ? AND span = ?')
      .pluck()
    this.#traces = db
      .prepare<[{ span: number }], number>(
        `SELECT t.trace FROM spans s JOIN change_spans t ON t.cpid = s.cpid
         JOIN outbox o ON o.trace = t.trace AND o.span = s.id WHERE s.id = +@span
         UNION SELECT trace FROM outbox WHERE span = +@span AND flags & ${SENT_FOR_CHILD} ORDER BY 1`,
      )
      .pluck()
    this.#driven = db
      .prepare<[number], number>(
        `SELECT t.trace FROM spans s JOIN change_spans t ON t.cpid = s.cpid
         JOIN outbox o ON o.trace = t.trace AND o.span = s.id AND o.flags & ${NO_ACTIVITY} = 0
         WHERE s.id = +? ORDER BY 1`,
      )
      .pluck()
  }

  /** A span that is linked for the first time has been sent nowhere. */
  firstLinked(row: number): void {
    this.#sentTo.set(row, [])
  }

  wasSent(trace: number, row: number): boolean {
    const known = this.#sentTo.get(row)
    if (known !== undefined) return known.includes(trace) || known.includes(-trace)
    return this.#sent.get(trace, row) === 1
  }

  tracesOfSpan(row: number): number[] {
    const known = this.#sentTo.get(row)
    return known?.flatMap((trace) => (trace === 0 ? [] : Math.abs(trace))) ?? this.#traces.all({ span: row })
  }

  tracesDriven(row: number): number[] {
    return this.#sentTo.get(row)?.filter((trace) => trace > 0) ?? this.#driven.all(row)
  }

  placed(trace: number, row: number): Placed | undefined {
    const found = this.#placed.get(trace, row)
    return (
      found && {
        parentId: found.parent_id,
        cause: found.cause === null ? undefined : Number(found.cause),
        causeTrace: found.cause_trace === null ? undefined : Number(found.cause_trace),
      }
    )
  }

  send(decision: SpanDecision): void {
    const { trace, span, parentId, flags, extra, cause, causeTrace } = decision
    this.#insert.run(
      this.#progress.nextDecision(),
      trace,
      span,
      parentId,
      flags,
      null,
      extra ?? null,
      cause ?? null,
      causeTrace ?? null,
    )
    this.#sentTo.get(span)?.push((flags & NO_ACTIVITY) === 0 ? trace : -trace)
  }

  sendSynthetic(decision: SyntheticDecision): void {
    const { trace, parentId, scope, bytes, above } = decision
    this.#progress.scopeUses.add(scope)
    this.#insert.run(
      this.#progress.nextDecision(),
      trace,
      null,
      parentId,
      SENT_SYNTHETIC,
      scope,
      bytes,
      above?.spanId ?? null,
      above?.trace ?? null,
    )
  }

  forget(): void {
    this.#sentTo.clear()
  }
}
