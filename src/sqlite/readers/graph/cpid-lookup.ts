import type { Statement } from 'better-sqlite3'
import { cpidOfDigits, type Cpid, type CpidPrefix } from '../../../model/cpid.ts'
import type { Absent, Pages } from '../../../model/ports/query-port.ts'
import type { Sqlite } from '../../open-database.ts'

const PAGE = 500
/** It sorts behind every digit and the dash. */
const BEHIND_DIGITS = 'g'

/** Turns CPIDs into their numbers and back. */
export class CpidLookup {
  readonly #find: Statement<[Cpid], { id: number; state: number }>
  readonly #beginning: Statement<[string, string, number], Cpid>
  readonly #uuids: Statement<[string], string | null>

  constructor(db: Sqlite) {
    this.#find = db.prepare('SELECT id, state FROM cpids WHERE text = +?')
    this.#beginning = db
      .prepare<[string, string, number], Cpid>(
        'SELECT text FROM cpids WHERE text >= ? AND text < ? ORDER BY text LIMIT ?',
      )
      .pluck()
    this.#uuids = db
      .prepare<[string], string | null>(
        `SELECT group_concat(lower(hex(cpids.uuid)), '' ORDER BY wanted.key)
         FROM json_each(?) wanted JOIN cpids ON cpids.id = wanted.value`,
      )
      .pluck()
  }

  /** The number of a live CPID. */
  find(cpid: Cpid): number | Absent {
    const row = this.#find.get(cpid)
    if (row === undefined) return 'unknown'
    return row.state === 0 ? row.id : 'pruned'
  }

  /** The number of a CPID, a tombstone's too. */
  findEvenPruned(cpid: Cpid): number | undefined {
    return this.#find.get(cpid)?.id
  }

  /** Those that begin so, tombstones too, at most `limit`: one range of the index. */
  beginning(prefix: CpidPrefix, limit: number): Cpid[] {
    return this.#beginning.all(prefix, prefix + BEHIND_DIGITS, limit)
  }

  cpids(ids: readonly number[]): Cpid[] {
    // One text for all: a row each would take as long again as finding them.
    const digits = this.#uuids.get(JSON.stringify(ids)) ?? ''
    const cpids: Cpid[] = []
    for (let at = 0; at < digits.length; at += 32) cpids.push(cpidOfDigits(digits.slice(at, at + 32)))
    return cpids
  }

  /** The CPIDs with these numbers, in their order. */
  *pages(ids: readonly number[]): Pages<Cpid> & Generator<Cpid[]> {
    for (let at = 0; at < ids.length; at += PAGE) yield this.cpids(ids.slice(at, at + PAGE))
  }
}
