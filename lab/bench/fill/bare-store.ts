import type { Statement } from 'better-sqlite3'
import type { Sqlite } from '../../../src/store/sqlite/open-database.ts'
import type { RequestRows, Row } from './bare-rows.ts'

/** Puts prepared rows into the tables that Causeway puts them into, and does nothing else. */
export class BareStore {
  readonly #db: Sqlite
  readonly #addRequest: Statement
  readonly #addOrigin: Statement
  readonly #index: Statement
  readonly #addSpan: Statement
  readonly #addPair: Statement
  readonly #setProgress: Statement

  constructor(db: Sqlite) {
    this.#db = db
    this.#addRequest = db.prepare(
      'INSERT INTO requests (hash, arrived_ms, rejected, message) VALUES (?, ?, ?, ?)',
    )
    this.#addOrigin = db.prepare('INSERT INTO origin_traces (id, trace_id, first_ns) VALUES (?, ?, ?)')
    this.#index = db.prepare('INSERT OR REPLACE INTO origin_trace_index (trace_id, origin) VALUES (?, ?)')
    this.#addSpan = db.prepare(
      `INSERT INTO spans (id, cpid, origin, span_id, parent_id, start_ns, end_ns, scope, kind, status, flags, name, raw)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#addPair = db.prepare('INSERT OR IGNORE INTO cpid_origins (cpid, origin) VALUES (?, ?)')
    this.#setProgress = db.prepare('UPDATE progress SET last_arrival = ?')
  }

  /** One transaction. */
  commit(requests: readonly RequestRows[]): void {
    this.#db.exec('BEGIN IMMEDIATE')
    for (const { request, origins, indexed, spans, pairs } of requests) {
      this.#addRequest.run(...request)
      this.#run(this.#addOrigin, origins)
      this.#run(this.#index, indexed)
      this.#run(this.#addSpan, spans)
      this.#run(this.#addPair, pairs)
    }
    this.#setProgress.run(requests.at(-1)?.spans.at(-1)?.[0])
    this.#db.exec('COMMIT')
  }

  #run(statement: Statement, rows: readonly Row[]): void {
    for (const row of rows) statement.run(...row)
  }
}
