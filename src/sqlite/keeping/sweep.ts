import type { Statement } from 'better-sqlite3'
import type { Sqlite } from '../open-database.ts'

/** Rows that are looked at in one turn. */
const ROWS = 1_000

export interface Sweepable {
  readonly table: string
  /** Its primary key. */
  readonly key: readonly string[]
  /** When a row `a` is of no use any more; may name @before. */
  readonly useless: string
}

/** Goes round a table, a thousand rows a turn, and removes those that are of no use. Where it stands is not stored. */
export class Sweep {
  readonly #first: Statement<[{ before: number }], bigint[]>
  readonly #next: Statement<[{ before: number; [key: `k${number}`]: bigint }], bigint[]>
  readonly #remove: Statement
  #after: readonly bigint[] | undefined

  constructor(db: Sqlite, { table, key, useless }: Sweepable) {
    const rows = (where: string): string =>
      `SELECT ${key.join(', ')}, (${useless}) FROM ${table} a ${where} ORDER BY ${key.join(', ')} LIMIT ${ROWS}`
    this.#first = db.prepare<[{ before: number }], bigint[]>(rows('')).raw().safeIntegers()
    const place = key.map((_, at) => `@k${at}`).join(', ')
    this.#next = db
      .prepare<[{ before: number; [key: `k${number}`]: bigint }], bigint[]>(
        rows(`WHERE (${key.join(', ')}) > (${place})`),
      )
      .raw()
      .safeIntegers()
    this.#remove = db.prepare(
      `DELETE FROM ${table} WHERE ${key.map((column) => `${column} = ?`).join(' AND ')}`,
    )
  }

  /** Looks at the next rows; true when most of them were of no use, so that it should go on soon. */
  turn(before: number): boolean {
    const places = this.#after?.map((value, at) => [`k${at}`, value] as const)
    const rows =
      places === undefined
        ? this.#first.all({ before })
        : this.#next.all({ ...Object.fromEntries(places), before })
    let removed = 0
    for (const row of rows) {
      if (row.at(-1) !== 1n) continue
      this.#remove.run(...row.slice(0, -1))
      removed++
    }
    this.#after = rows.length < ROWS ? undefined : rows.at(-1)?.slice(0, -1)
    return removed * 2 >= ROWS
  }
}
