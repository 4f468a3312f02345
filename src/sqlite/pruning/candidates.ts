import type { Statement } from 'better-sqlite3'
import type { CpidToPrune, PruneCandidate } from '../../model/ports/prune-port.ts'
import type { Sqlite } from '../open-database.ts'
import type { Statements } from './statements.ts'

/** In place of the time in `cpids.prune_ns`: no edge points to these any more, and they go before all others. */
const CONDEMNED = -1
const CONDEMNED_BY_FORCE = -2

const FIRST: PruneCandidate = { timeNs: -1n, id: Number.MAX_SAFE_INTEGER }
const LAST: PruneCandidate = { timeNs: 2n ** 63n - 1n, id: 0 }

interface PlaceRow {
  id: bigint
  prune_ns: bigint
}

/** CPIDs that no edge points to, in the order in which they go. */
export class Candidates {
  readonly #sql: Statements
  readonly #between: Statement<[bigint, number, bigint, number, number], PlaceRow>
  readonly #merged: Statement<[number, number], PlaceRow & { arrival: bigint }>
  readonly #spare: Statement<[number, number], PlaceRow>

  constructor(db: Sqlite, sql: Statements) {
    this.#sql = sql
    this.#between = db
      .prepare<[bigint, number, bigint, number, number], PlaceRow>(
        `SELECT id, prune_ns FROM cpids WHERE state = 0 AND in_degree = 0
           AND (prune_ns, id) > (+?, +?) AND (prune_ns, id) < (+?, +?) ORDER BY prune_ns, id LIMIT +?`,
      )
      .safeIntegers()
    this.#merged = db
      .prepare<[number, number], PlaceRow & { arrival: bigint }>(
        `SELECT m.arrival, c.id, c.prune_ns FROM mergelogs m CROSS JOIN cpids c ON c.id = m.cpid
         WHERE m.arrival > +? ORDER BY m.arrival LIMIT +?`,
      )
      .safeIntegers()
    this.#spare = db
      .prepare<[number, number], PlaceRow>(
        `UPDATE cpids SET prune_ns = coalesce(
           (SELECT min(time_ns, arrived_ms * 1000000) FROM mergelogs WHERE cpid = +?), first_seen_ms * 1000000)
         WHERE id = +? RETURNING id, prune_ns`,
      )
      .safeIntegers()
  }

  between(after: PruneCandidate = FIRST, before: PruneCandidate = LAST, limit: number): PruneCandidate[] {
    return this.#between.all(after.timeNs, after.id, before.timeNs, before.id, limit).map(placeOf)
  }

  mergedAfter(arrival: number, limit: number): { arrival: number; place: PruneCandidate }[] {
    return this.#merged
      .all(arrival, limit)
      .map((row) => ({ arrival: Number(row.arrival), place: placeOf(row) }))
  }

  condemn(cpid: number, forced: boolean): void {
    this.#sql.run(
      'UPDATE cpids SET prune_ns = ? WHERE id = +?',
      forced ? CONDEMNED_BY_FORCE : CONDEMNED,
      cpid,
    )
  }

  condemned(limit: number): CpidToPrune[] {
    return this.#sql
      .rows<{ id: number; prune_ns: number }>(
        `SELECT id, prune_ns FROM cpids WHERE state = 0 AND in_degree = 0 AND prune_ns < 0
         ORDER BY prune_ns LIMIT +?`,
        limit,
      )
      .map(({ id, prune_ns }) => ({ id, forced: prune_ns === CONDEMNED_BY_FORCE }))
  }

  spare(cpid: number): PruneCandidate {
    const row = this.#spare.get(cpid, cpid)
    if (row === undefined) throw new Error(`no CPID has the number ${cpid}`)
    return placeOf(row)
  }
}

function placeOf({ id, prune_ns }: PlaceRow): PruneCandidate {
  return { id: Number(id), timeNs: prune_ns }
}
