import type { Statement } from 'better-sqlite3'
import { GenerationCache } from './generation-cache.ts'
import type { Sqlite } from './open-database.ts'

const NAMES = 5_000

/** The service.name that stands behind a scope. */
export class ServiceNames {
  readonly #cache = new GenerationCache<number, string>(NAMES)
  readonly #find: Statement<[number], string>

  constructor(db: Sqlite) {
    this.#find = db
      .prepare<[number], string>(
        'SELECT r.service FROM scopes s JOIN resources r ON r.id = s.resource WHERE s.id = ?',
      )
      .pluck()
  }

  of(scope: number): string {
    const cached = this.#cache.get(scope)
    if (cached !== undefined) return cached
    const name = this.#find.get(scope) ?? ''
    this.#cache.set(scope, name)
    return name
  }

  forget(): void {
    this.#cache.clear()
  }
}
