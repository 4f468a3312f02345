import type { Statement } from 'better-sqlite3'
import type { RequestAnswer } from '../../model/ports/arrival-port.ts'
import type { Retention } from '../../model/ports/prune-port.ts'
import type { Sqlite } from '../open-database.ts'

/** How many requests, and how many of those that had something refused, are remembered; one with a long answer counts as more. */
export interface RequestLimits {
  requests: number
  refused: number
}

const MOST: RequestLimits = { requests: 1_000_000, refused: 10_000 }
const LEAST: RequestLimits = { requests: 100, refused: 50 }
/** What one that counts as one takes at most, and which part of max_bytes all of them together. */
const BYTES: RequestLimits = { requests: 128, refused: 1_024 }
const SHARE: RequestLimits = { requests: 20, refused: 40 }

/** Requests beyond the limit go so many at a time. */
const AT_ONCE = 1_000

/** As many as crowd nothing out of `max_bytes`. */
export function requestLimits({ maxBytes }: Pick<Retention, 'maxBytes'>): RequestLimits {
  if (maxBytes === 0) return MOST
  const limit = (of: keyof RequestLimits): number =>
    Math.min(MOST[of], Math.max(LEAST[of], Math.floor(maxBytes / SHARE[of] / BYTES[of])))
  return { requests: limit('requests'), refused: limit('refused') }
}

/**
 * By which a request that comes again is known, for an hour (pruning sees to that), and for auditors the newest of which
 * something was refused. Their numbers grow by what they count as, so that the limit is a distance between two numbers.
 */
export class RequestTable {
  readonly #limits: RequestLimits
  readonly #answer: Statement<[Buffer], RequestAnswer>
  readonly #add: Statement
  readonly #dropOld: Statement
  readonly #addRefused: Statement
  readonly #dropOldRefused: Statement

  constructor(db: Sqlite, limits: RequestLimits) {
    this.#limits = limits
    this.#answer = db.prepare('SELECT rejected, message FROM requests WHERE hash = ?')
    this.#add = db.prepare(
      `INSERT INTO requests (id, hash, arrived_ms, rejected, message)
       SELECT coalesce(max(id), 0) + ?, ?, ?, ?, ? FROM requests`,
    )
    this.#addRefused = db.prepare(
      `INSERT INTO rejected_items (id, arrived_ms, items, message)
       SELECT coalesce(max(id), 0) + ?, ?, ?, ? FROM rejected_items`,
    )
    const dropOld = (table: string): Statement =>
      db.prepare(
        `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE id <= ? ORDER BY id LIMIT ?)`,
      )
    this.#dropOld = dropOld('requests')
    this.#dropOldRefused = dropOld('rejected_items')
  }

  answerTo(hash: Buffer): RequestAnswer | undefined {
    return this.#answer.get(hash)
  }

  add(hash: Buffer, wallMs: number, { rejected, message }: RequestAnswer): void {
    const { requests, refused } = this.#limits
    const counts = countsAs(message, BYTES.requests)
    const id = Number(this.#add.run(counts, hash, wallMs, rejected, message).lastInsertRowid)
    const step = Math.min(AT_ONCE, requests)
    // Twice as many as come, so that many from before are gone in time.
    if (id % step < counts) this.#dropOld.run(id - requests, 2 * step)
    if (rejected === 0 && message === '') return
    const countsRefused = countsAs(message, BYTES.refused)
    const at = Number(this.#addRefused.run(countsRefused, wallMs, rejected, message).lastInsertRowid)
    this.#dropOldRefused.run(at - refused, 2 * countsRefused)
  }
}

function countsAs(message: string, bytes: number): number {
  return 1 + Math.floor(Buffer.byteLength(message) / bytes)
}
