import type { PruneHold, Reached } from '../../model/ports/prune-port.ts'
import type { Progress } from '../progress.ts'
import type { SpansSentForChildren } from './spans-sent-for-children.ts'
import type { Statements } from './statements.ts'

/** What is not known to come free at a certain point is looked at again in the next round. */
const NEXT_ROUND: PruneHold = { until: 'activeMs', at: 0 }

/**
 * Spans of the original traces that a CPID's work is in, from the newest trace on, so many at most: one with more is
 * checked again span by span when it goes.
 */
const ITS_SPANS = `SELECT s.id AS id, s.cpid AS cpid
  FROM (SELECT origin FROM cpid_origins WHERE cpid = +? ORDER BY origin DESC LIMIT 200) c
  CROSS JOIN spans s ON s.origin = c.origin LIMIT 2000`
/** How far all exporters have come: what lies between the position of the slowest and its next decision was taken by force. */
const sentUpTo = (exporters: string, outbox: string): string =>
  `SELECT min(decision) - 1 FROM ${outbox} WHERE decision > (SELECT min(position) FROM ${exporters})`

/** Why CPIDs may not go yet, and when they last had something to do. */
export class PruneHolds {
  readonly #sql: Statements
  readonly #progress: Progress
  readonly #brought: SpansSentForChildren
  #reached: Reached | undefined

  constructor(sql: Statements, progress: Progress, brought: SpansSentForChildren) {
    this.#sql = sql
    this.#progress = progress
    this.#brought = brought
  }

  /** A new transaction: what was reached is asked anew. */
  begin(): void {
    this.#reached = undefined
  }

  get reached(): Reached {
    const { linkedArrival, activeMs, wallMs } = this.#progress
    this.#reached ??= {
      decision: this.#sql.number(sentUpTo('exporters', 'outbox')) ?? Infinity,
      logDecision: this.#sql.number(sentUpTo('log_exporters', 'log_outbox')) ?? Infinity,
      arrival: linkedArrival,
      activeMs,
      wallMs,
    }
    return this.#reached
  }

  /** The last decision about spans that every exporter has sent. */
  get sentDecision(): number {
    return Math.min(this.reached.decision, this.#progress.lastDecision)
  }

  hold(cpid: number): PruneHold | undefined {
    return (
      this.#byTrace(cpid) ??
      this.#byWaiting(cpid) ??
      this.#byArrival(cpid) ??
      this.#inPlace(cpid) ??
      this.#asBrought(cpid)
    )
  }

  /** What stands in traces, whether the CPID is their root or not: its root may have been pruned before it. */
  #byTrace(cpid: number): PruneHold | undefined {
    const isHeld = '(state = 0 OR last_decision > +?) LIMIT 1'
    const found =
      this.#traces(`traces WHERE root = +? AND ${isHeld}`, cpid)[0] ??
      this.#traces(
        `change_spans c CROSS JOIN traces t ON t.id = c.trace WHERE c.cpid = +? AND ${isHeld}`,
        cpid,
      )[0]
    if (found === undefined) return undefined
    return found.state === 0
      ? { until: 'activeMs', at: found.due_ms }
      : { until: 'decision', at: found.last_decision }
  }

  #traces(rest: string, cpid: number): { state: number; due_ms: number; last_decision: number }[] {
    return this.#sql.rows(`SELECT state, due_ms, last_decision FROM ${rest}`, cpid, this.sentDecision)
  }

  #byWaiting(cpid: number): PruneHold | undefined {
    const waits =
      this.#sql.number('SELECT 1 FROM waiting WHERE cpid = +? LIMIT 1', cpid) ??
      this.#sql.number('SELECT 1 FROM waiting_logs WHERE cpid = +? LIMIT 1', cpid)
    if (waits !== undefined) return NEXT_ROUND
    const log = this.#sql.number(
      `SELECT o.decision FROM logs l CROSS JOIN log_outbox o ON o.log = l.id
       WHERE l.cpid = +? AND l.id >= (SELECT min(log) FROM log_outbox) LIMIT 1`,
      cpid,
    )
    return log === undefined ? undefined : { until: 'logDecision', at: log }
  }

  /** What has arrived but is not linked. */
  #byArrival(cpid: number): PruneHold | undefined {
    const { linkedArrival, lastArrival } = this.#progress
    if (linkedArrival >= lastArrival) return undefined
    const newest = Math.max(
      this.#sql.number('SELECT arrival FROM mergelogs WHERE cpid = +?', cpid) ?? 0,
      this.#sql.number('SELECT max(id) FROM logs WHERE cpid = +?', cpid) ?? 0,
      this.#newestSpan(cpid),
    )
    return newest > linkedArrival ? { until: 'arrival', at: newest } : undefined
  }

  /** Spans that were sent on in their original traces, and so stand in no trace of ours. */
  #inPlace(cpid: number): PruneHold | undefined {
    if (this.sentDecision >= this.#progress.lastDecision) return undefined
    const decision = this.#sql.number(
      `SELECT max(o.decision) FROM (${ITS_SPANS}) i CROSS JOIN outbox o ON o.trace = 0 AND o.span = i.id`,
      cpid,
    )
    return decision !== undefined && decision > this.sentDecision
      ? { until: 'decision', at: decision }
      : undefined
  }

  /** Spans that children of theirs brought into traces of other CPIDs. */
  #asBrought(cpid: number): PruneHold | undefined {
    return this.#brought.holdOf(
      `SELECT id FROM (${ITS_SPANS}) WHERE cpid = +?`,
      [cpid, cpid],
      this.sentDecision,
    )
  }

  lastActivityMs(cpid: number): number {
    const inTraces = this.#sql.number(
      `SELECT max(coalesce((SELECT max(last_wall_ms) FROM traces WHERE root = +?), 0),
         coalesce((SELECT max(t.last_wall_ms) FROM change_spans c CROSS JOIN traces t ON t.id = c.trace
           WHERE c.cpid = +?), 0),
         (SELECT prune_ns / 1000000 FROM cpids WHERE id = +?))`,
      cpid,
      cpid,
      cpid,
    )
    return Math.max(inTraces ?? 0, this.#lastInPlaceMs(cpid))
  }

  /** When the newest span arrived, if it was sent on in its original trace: at most an interval of pruning later. */
  #lastInPlaceMs(cpid: number): number {
    const newest = this.#sql.number(`SELECT max(id) FROM (${ITS_SPANS}) WHERE cpid = +?`, cpid, cpid)
    if (newest === undefined) return 0
    const isInPlace = this.#sql.number('SELECT 1 FROM outbox WHERE trace = 0 AND span = +? LIMIT 1', newest)
    if (isInPlace === undefined) return 0
    return (
      this.#sql.number(
        'SELECT wall_ms FROM arrival_marks WHERE arrival >= +? ORDER BY wall_ms LIMIT 1',
        newest,
      ) ?? this.#progress.wallMs
    )
  }

  /** The newest span that may be of its work; 0 when there is none. */
  #newestSpan(cpid: number): number {
    return this.#sql.number(`SELECT max(id) FROM (${ITS_SPANS})`, cpid) ?? 0
  }
}
