import type { Statement } from 'better-sqlite3'
import { hash } from 'node:crypto'
import type { Sqlite } from '../open-database.ts'

/** Requests whose version nobody told are remembered as long as sources repeat: the newest of all clusters. */
const MOST_TOLD = 100_000

/** Who acted last for which object, and which requests were told of, as rows. */
export class ActedRows {
  readonly #last: Statement<[number, string, string], bigint>
  readonly #note: Statement
  readonly #remove: Statement
  readonly #told: Statement
  readonly #dropTold: Statement

  constructor(db: Sqlite) {
    this.#last = db
      .prepare<[number, string, string], bigint>(
        'SELECT version FROM k8s_acted WHERE cluster = ? AND uid = ? AND actor = ?',
      )
      .pluck()
      .safeIntegers()
    this.#note = db.prepare(
      `INSERT INTO k8s_acted (cluster, uid, actor, version) VALUES (?, ?, ?, ?)
         ON CONFLICT (cluster, uid, actor) DO UPDATE SET version = excluded.version`,
    )
    this.#remove = db.prepare('DELETE FROM k8s_acted WHERE cluster = ? AND uid = ?')
    this.#told = db.prepare(
      'INSERT OR IGNORE INTO k8s_told_requests (cluster, request, told_ms) VALUES (?, ?, ?)',
    )
    this.#dropTold = db.prepare('DELETE FROM k8s_told_requests WHERE id <= ?')
  }

  last(cluster: number, uid: string, by: string): bigint {
    return this.#last.get(cluster, uid, by) ?? 0n
  }

  note(cluster: number, uid: string, by: string, version: bigint): void {
    this.#note.run(cluster, uid, by, version)
  }

  /** An object is removed. */
  remove(cluster: number, uid: string): void {
    this.#remove.run(cluster, uid)
  }

  /** `nowMs` is up time. */
  isFirstTold(cluster: number, request: string, nowMs: number): boolean {
    const key = hash('sha256', request, 'buffer').subarray(0, 16)
    const { changes, lastInsertRowid } = this.#told.run(cluster, key, nowMs)
    if (changes > 0) this.#dropTold.run(Number(lastInsertRowid) - MOST_TOLD)
    return changes > 0
  }
}
