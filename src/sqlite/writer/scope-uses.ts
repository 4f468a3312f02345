import type { Statement } from 'better-sqlite3'
import type { Sqlite } from '../open-database.ts'

/** What names a scope in a column of this name. Each has a trigger that counts down when a row goes. */
export const NAMING_SCOPES = ['spans', 'logs', 'mergelogs', 'rejected_mergelogs', 'outbox'] as const

/**
 * Counts the rows that came to name scopes (`scopes.uses`): in memory, since most name the same few, until the transaction
 * writes it down. Whoever adds such a row says so here; a scope must never count as unused while a row names it.
 */
export class ScopeUses {
  readonly #raise: Statement
  readonly #added = new Map<number, number>()
  /** Records of a scope come one after another. */
  #last = 0
  #ofLast = 0

  constructor(db: Sqlite) {
    this.#raise = db.prepare('UPDATE scopes SET uses = uses + ? WHERE id = ?')
  }

  add(scope: number): void {
    if (scope !== this.#last) this.#turnTo(scope)
    this.#ofLast++
  }

  /** Writes down what was added since the last time. */
  save(): void {
    this.#turnTo(0)
    if (this.#added.size === 0) return
    for (const [scope, uses] of this.#added) this.#raise.run(uses, scope)
    this.#added.clear()
  }

  /** What was added since the last time has been rolled back. */
  forget(): void {
    this.#added.clear()
    this.#last = 0
    this.#ofLast = 0
  }

  #turnTo(scope: number): void {
    if (this.#ofLast > 0) this.#added.set(this.#last, (this.#added.get(this.#last) ?? 0) + this.#ofLast)
    this.#last = scope
    this.#ofLast = 0
  }
}

/** Statements that count anew, in a database that something else has filled. */
export const RECOUNT_SCOPE_USES: readonly string[] = [
  'UPDATE scopes SET uses = 0',
  ...NAMING_SCOPES.map(
    (table) => `UPDATE scopes SET uses = uses + c.n
      FROM (SELECT scope, count(*) AS n FROM ${table} GROUP BY scope) c WHERE c.scope = scopes.id`,
  ),
]
