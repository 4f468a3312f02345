import type { Statement } from 'better-sqlite3'
import type { Sqlite } from './open-database.ts'

/**
 * The statements of a connection, each prepared on first use. A plus before a parameter keeps SQLite from planning again for each value.
 */
export class PreparedStatements {
  readonly #db: Sqlite
  readonly #prepared = new Map<string, Statement>()

  constructor(db: Sqlite) {
    this.#db = db
  }

  /** Runs a statement. Returns how many rows it changed. */
  run(sql: string, ...values: unknown[]): number {
    return this.#statement(sql).run(...values).changes
  }

  /** The first column of the first row; undefined if that is null or there is none. */
  number(sql: string, ...values: unknown[]): number | undefined {
    const found = this.#statement(sql)
      .raw()
      .get(...values) as [number | null] | undefined
    return found?.[0] ?? undefined
  }

  /** Each row as an object of its columns. */
  rows<Row>(sql: string, ...values: unknown[]): Row[] {
    return this.#statement(sql).all(...values) as Row[]
  }

  #statement(sql: string): Statement {
    let statement = this.#prepared.get(sql)
    if (statement === undefined) {
      statement = this.#db.prepare(sql)
      this.#prepared.set(sql, statement)
    }
    return statement
  }
}
