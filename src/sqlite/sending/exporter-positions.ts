import type { Signal } from '../../model/ingest.ts'
import type { PositionStore } from '../../model/ports/keeping-port.ts'
import type { Sqlite } from '../open-database.ts'

const TABLES: Record<Signal, string> = { traces: 'exporters', logs: 'log_exporters' }

/** How far each exporter of a signal has come in its outbox. */
export class ExporterPositions implements PositionStore {
  readonly #db: Sqlite
  readonly #signal: Signal
  readonly #table: string

  constructor(db: Sqlite, signal: Signal) {
    this.#db = db
    this.#signal = signal
    this.#table = TABLES[signal]
  }

  /** Keeps exactly these exporters: a new one starts at `end`, a removed one is forgotten. Returns where each stands. */
  keep(names: readonly string[], end: number): Map<string, number> {
    const known = this.#db.prepare<[], { name: string }>(`SELECT name FROM ${this.#table}`).all()
    for (const { name } of known) {
      if (!names.includes(name)) this.#db.prepare(`DELETE FROM ${this.#table} WHERE name = ?`).run(name)
    }
    const add = this.#db.prepare(`INSERT OR IGNORE INTO ${this.#table} (name, position) VALUES (?, ?)`)
    for (const name of names) add.run(name, end)
    this.#removeSentLogs()
    return this.all()
  }

  all(): Map<string, number> {
    const rows = this.#db
      .prepare<[], { name: string; position: number }>(`SELECT name, position FROM ${this.#table}`)
      .all()
    return new Map(rows.map((row) => [row.name, row.position]))
  }

  moveTo(name: string, position: number, refused: number): void {
    this.#db
      .prepare(`UPDATE ${this.#table} SET position = ?, refused = refused + ? WHERE name = ?`)
      .run(position, refused, name)
    this.#removeSentLogs()
  }

  /** Where spans were sent is kept on record; of log records only what some exporter has still to send. */
  #removeSentLogs(): void {
    if (this.#signal !== 'logs') return
    const sent = this.#db.prepare<[], number | null>('SELECT min(position) FROM log_exporters').pluck().get()
    if (typeof sent === 'number') this.#db.prepare('DELETE FROM log_outbox WHERE decision <= ?').run(sent)
    else this.#db.exec('DELETE FROM log_outbox; DELETE FROM waiting_logs')
  }
}
