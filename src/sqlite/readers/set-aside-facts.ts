import type { Sqlite } from '../open-database.ts'

/** What was set aside, and the newest reason. */
export interface SetAsideFacts {
  readonly items: number
  readonly time: string
  readonly reason: string
}

/** Reads what could not be worked on. */
export class SetAsideFactsReader {
  readonly #db: Sqlite

  constructor(db: Sqlite) {
    this.#db = db
  }

  /** Undefined when nothing was set aside. */
  read(): SetAsideFacts | undefined {
    return this.#db
      .prepare<[], SetAsideFacts>(
        `SELECT (SELECT count(*) FROM set_aside) AS items, time, reason FROM audit_set_aside ORDER BY time DESC LIMIT 1`,
      )
      .get()
  }
}
