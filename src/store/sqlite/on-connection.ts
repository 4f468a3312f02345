import type { Sqlite } from './open-database.ts'

/** A class whose fields are prepared statements: `super(db)` runs before a subclass initialises its fields. */
export abstract class OnConnection {
  protected readonly db: Sqlite

  constructor(db: Sqlite) {
    this.db = db
  }
}
