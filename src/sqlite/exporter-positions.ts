import type { Sqlite } from './open-database.ts'

/** How far each exporter has come in the outbox. */
export class ExporterPositions {
  readonly #db: Sqlite

  constructor(db: Sqlite) {
    this.#db = db
  }

  /** Keeps exactly these exporters: a new one starts at `end`, a removed one is forgotten. Returns where each stands. */
  keep(names: readonly string[], end: number): Map<string, number> {
    const known = this.#db.prepare<[], { name: string }>('SELECT name FROM exporters').all()
    for (const { name } of known) {
      if (!names.includes(name)) this.#db.prepare('DELETE FROM exporters WHERE name = ?').run(name)
    }
    const add = this.#db.prepare('INSERT OR IGNORE INTO exporters (name, position) VALUES (?, ?)')
    for (const name of names) add.run(name, end)
    return this.all()
  }

  all(): Map<string, number> {
    const rows = this.#db
      .prepare<[], { name: string; position: number }>('SELECT name, position FROM exporters')
      .all()
    return new Map(rows.map((row) => [row.name, row.position]))
  }

  moveTo(name: string, position: number, refused: number): void {
    this.#db
      .prepare('UPDATE exporters SET position = ?, refused = refused + ? WHERE name = ?')
      .run(position, refused, name)
  }
}
