import type { Statement } from 'better-sqlite3'
import type { Sqlite } from '../open-database.ts'
import { MIB } from '../../model/sizes.ts'

/** What goes in one turn at most; envelopes may be as large as a request. */
const SCOPES = 500
const BYTES = 8 * MIB

interface Unused {
  id: number
  resource: number
  bytes: number
}

/** Removes scopes that no row names any more, and resources whose last scope goes. */
export class UnusedScopes {
  readonly #find: Statement<[], Unused>
  readonly #removeScope: Statement
  readonly #removeResource: Statement
  readonly #onRemoved: () => void

  /** `onRemoved`: what remembers scopes by their envelopes must forget them. */
  constructor(db: Sqlite, onRemoved: () => void) {
    this.#find = db.prepare(
      `SELECT s.id, s.resource, length(s.envelope) + length(r.envelope) AS bytes FROM scopes s INDEXED BY scopes_unused
       LEFT JOIN resources r ON r.id = s.resource WHERE s.uses = 0 LIMIT ${SCOPES}`,
    )
    this.#removeScope = db.prepare('DELETE FROM scopes WHERE id = ?')
    this.#removeResource = db.prepare(
      'DELETE FROM resources WHERE id = ? AND NOT EXISTS (SELECT 1 FROM scopes WHERE resource = resources.id)',
    )
    this.#onRemoved = onRemoved
  }

  /** True when there may be more. */
  turn(): boolean {
    const unused = this.#find.all()
    if (unused.length === 0) return false
    let bytes = 0
    let removed = 0
    const resources = new Set<number>()
    for (const scope of unused) {
      if (removed > 0 && bytes + scope.bytes > BYTES) break
      this.#removeScope.run(scope.id)
      resources.add(scope.resource)
      bytes += scope.bytes
      removed++
    }
    for (const resource of resources) this.#removeResource.run(resource)
    this.#onRemoved()
    return removed === SCOPES || removed < unused.length
  }
}
