import type { Statement } from 'better-sqlite3'
import type { RequestAnswer } from '../model/arrival-port.ts'
import type { Sqlite } from './open-database.ts'

/** How many requests, and how many of those that had something refused, are remembered however many there are. */
export interface RequestLimits {
  requests: number
  refused: number
}

export const REQUEST_LIMITS: RequestLimits = { requests: 1_000_000, refused: 10_000 }

/** Requests beyond the limit go so many at a time. */
const AT_ONCE = 1_000

/**
 * By which a request that comes again is known, for an hour (pruning sees to that), and for auditors the newest of which
 * something was refused. Every method belongs inside the writer's transaction.
 */
export class RequestTable {
  readonly #limits: RequestLimits
  readonly #answer: Statement<[Buffer], RequestAnswer>
  readonly #add: Statement
  readonly #dropOld: Statement
  readonly #addRefused: Statement
  readonly #dropOldRefused: Statement

  constructor(db: Sqlite, limits = REQUEST_LIMITS) {
    this.#limits = limits
    this.#answer = db.prepare('SELECT rejected, message FROM requests WHERE hash = ?')
    this.#add = db.prepare('INSERT INTO requests (hash, arrived_ms, rejected, message) VALUES (?, ?, ?, ?)')
    this.#dropOld = db.prepare('DELETE FROM requests WHERE id <= ?')
    this.#addRefused = db.prepare('INSERT INTO rejected_items (arrived_ms, items, message) VALUES (?, ?, ?)')
    this.#dropOldRefused = db.prepare('DELETE FROM rejected_items WHERE id <= ?')
  }

  answerTo(hash: Buffer): RequestAnswer | undefined {
    return this.#answer.get(hash)
  }

  add(hash: Buffer, wallMs: number, { rejected, message }: RequestAnswer): void {
    const id = Number(this.#add.run(hash, wallMs, rejected, message).lastInsertRowid)
    const step = Math.min(AT_ONCE, this.#limits.requests)
    if (id % step === 0) this.#dropOld.run(id - this.#limits.requests)
    if (rejected === 0 && message === '') return
    const refused = Number(this.#addRefused.run(wallMs, rejected, message).lastInsertRowid)
    this.#dropOldRefused.run(refused - this.#limits.refused)
  }
}
