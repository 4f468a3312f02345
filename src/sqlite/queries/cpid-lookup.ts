import type { Statement } from 'better-sqlite3'
import { cpidBytes, cpidOfBytes, type Cpid } from '../../model/cpid.ts'
import type { Absent, Pages } from '../../model/query-port.ts'
import type { Sqlite } from '../open-database.ts'

const PAGE = 500

/** Turns CPIDs into their numbers and back. */
export class CpidLookup {
  readonly #find: Statement<[Buffer], { id: number; state: number }>
  readonly #uuids: Statement<[string], Buffer>

  constructor(db: Sqlite) {
    this.#find = db.prepare('SELECT id, state FROM cpids WHERE uuid = ?')
    this.#uuids = db
      .prepare<[string], Buffer>(
        'SELECT c.uuid FROM json_each(?) j JOIN cpids c ON c.id = j.value ORDER BY j.key',
      )
      .pluck()
  }

  /** The number of a live CPID. */
  find(cpid: Cpid): number | Absent {
    const row = this.#find.get(cpidBytes(cpid))
    if (row === undefined) return 'unknown'
    return row.state === 0 ? row.id : 'pruned'
  }

  /** The number of a CPID, a tombstone's too. */
  findEvenPruned(cpid: Cpid): number | undefined {
    return this.#find.get(cpidBytes(cpid))?.id
  }

  cpids(ids: readonly number[]): Cpid[] {
    return this.#uuids.all(JSON.stringify(ids)).map(cpidOfBytes)
  }

  /** The CPIDs with these numbers, in their order. */
  *pages(ids: readonly number[]): Pages<Cpid> & Generator<Cpid[]> {
    for (let at = 0; at < ids.length; at += PAGE) yield this.cpids(ids.slice(at, at + PAGE))
  }
}
